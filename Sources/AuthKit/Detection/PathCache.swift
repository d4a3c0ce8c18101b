/// The operations of APIs that detection has read, kept for completion: a private folder with one
/// file for each base URL. It holds paths, methods and names of parameters, and nothing secret.
package struct PathCache {
  private static let mostFiles = 50
  private static let suffix = ".json"
  /// The name of a file has at most 255 bytes.
  private static let longestBase = 120

  private let folder: String

  /// - Parameter folder: its path; it is made when something is kept.
  package init(folder: String) { self.folder = folder }

  /// Keeps `paths`; a cache that cannot be written changes nothing else.
  package func keep(_ paths: APIPaths) {
    guard paths.base.utf8.count <= Self.longestBase, !paths.operations.isEmpty,
      let folder = try? SessionFolder.made(folder)
    else { return }
    let name = Self.name(paths.base)
    try? folder.locked(timeout: 1) { () throws(Failure) in
      let names = try folder.names(Self.suffix)
      guard names.contains(name) || names.count < Self.mostFiles else { return }
      try Secret(paths.text).withBytes { (bytes) throws(Failure) in
        try folder.write(bytes, as: name)
      }
    }
  }

  /// Returns the operations below `url`, with their paths as they follow it.
  package func operations(of url: String) -> [APIPaths.Operation] {
    guard let folder = try? SessionFolder.existing(folder),
      let names = try? folder.names(Self.suffix)
    else { return [] }
    return names.flatMap { name -> [APIPaths.Operation] in
      guard let base = Self.base(name) else { return [] }
      let (down, up) = (Self.path(from: url, to: base), Self.path(from: base, to: url))
      guard down != nil || up != nil, let text = try? folder.read(name),
        let paths = APIPaths(base: base, text: text)
      else { return [] }
      return paths.operations.compactMap { operation in
        let start = up ?? ""
        guard operation.path.utf8.starts(with: (start + "/").utf8) else { return nil }
        let rest = String(decoding: operation.path.utf8.dropFirst(start.utf8.count), as: UTF8.self)
        return APIPaths.Operation(
          method: operation.method, path: (down ?? "") + rest, parameters: operation.parameters)
      }
    }
  }

  /// Removes what is kept for `url`, unless one of `others` has use for it.
  package func forget(_ url: String, keepingFor others: [String]) {
    func serves(_ base: String, _ url: String) -> Bool {
      Self.path(from: url, to: base) != nil || Self.path(from: base, to: url) != nil
    }
    guard let folder = try? SessionFolder.existing(folder) else { return }
    try? folder.locked(timeout: 1) { () throws(Failure) in
      for name in try folder.names(Self.suffix) {
        guard let base = Self.base(name), serves(base, url),
          !others.contains(where: { serves(base, $0) })
        else { continue }
        _ = try folder.remove(name)
      }
    }
  }

  private static func name(_ base: String) -> String { hexDigits(base.utf8) + suffix }

  private static func base(_ name: String) -> String? {
    hexDecoded(name.utf8.dropLast(suffix.utf8.count)).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the path that leads from `url` to `base`, empty for the same; nil if `base` is not
  /// below `url`.
  private static func path(from url: String, to base: String) -> String? {
    let url = url.withoutTrailingSlashes
    guard base.utf8.starts(with: url.utf8) else { return nil }
    let rest = base.utf8.dropFirst(url.utf8.count)
    return rest.isEmpty || rest.first == UInt8(ascii: "/")
      ? String(decoding: rest, as: UTF8.self) : nil
  }
}
