import Glibc

/// The repository of this build.
enum Source {
  /// The path of the repository.
  static let root = "/" + "\(#filePath)".split(separator: "/").dropLast(4).joined(separator: "/")

  /// The text of a file in the repository.
  static func text(_ path: String) throws -> String {
    guard let bytes = readFile("\(root)/\(path)") else { throw HarnessError("there is no \(path)") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The names in a folder of the repository, sorted.
  static func names(in folder: String) -> [String] { list("\(root)/\(folder)").sorted() }

  /// Writes a file in the repository and makes its folder.
  static func write(_ path: String, _ text: String) throws {
    let full = "\(root)/\(path)"
    mkdir(String(full[..<(full.lastIndex(of: "/") ?? full.startIndex)]), 0o755)
    guard let file = fopen(full, "w"), fputs(text, file) >= 0, fclose(file) == 0 else {
      throw HarnessError("cannot write \(full): errno \(errno)")
    }
  }
}
