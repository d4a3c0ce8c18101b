import Glibc

/// The repository that this was built from.
enum Source {
  /// Its folder.
  static let root = "/" + "\(#filePath)".split(separator: "/").dropLast(4).joined(separator: "/")

  /// The text of a file in it.
  static func text(_ path: String) throws -> String {
    guard let bytes = readFile("\(root)/\(path)") else { throw HarnessError("there is no \(path)") }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The names in one of its folders, sorted.
  static func names(in folder: String) -> [String] { list("\(root)/\(folder)").sorted() }

  /// Writes a file of it; the folder is made.
  static func write(_ path: String, _ text: String) throws {
    let full = "\(root)/\(path)"
    mkdir(String(full[..<(full.lastIndex(of: "/") ?? full.startIndex)]), 0o755)
    guard let file = fopen(full, "w"), fputs(text, file) >= 0, fclose(file) == 0 else {
      throw HarnessError("cannot write \(full): errno \(errno)")
    }
  }
}
