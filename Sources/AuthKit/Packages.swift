internal import Glibc

/// What the list of Debian's package manager says is installed; where there is none, nothing is
/// known. https://manpages.debian.org/bookworm/dpkg/dpkg-query.1.en.html
enum Packages {
  private static let list = "/var/lib/dpkg/status"

  /// The upstream version of the first of `names` that is installed: `0.20.5` of `0.20.5-3`.
  static func version(ofAny names: [String]) -> String? {
    guard let text = contents() else { return nil }
    defer { free(text) }
    for name in names {
      if let version = version(of: name, in: text) { return version }
    }
    return nil
  }

  /// A megabyte or more, searched by the C library, for each `--version` waits for it.
  private static func contents() -> UnsafeMutablePointer<CChar>? {
    let file = open(list, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, let size = Int(exactly: status.st_size),
      let buffer = malloc(size + 1)
    else { return nil }
    let text = buffer.assumingMemoryBound(to: CChar.self)
    text[max(0, read(file, buffer, size))] = 0
    return text
  }

  private static func version(of name: String, in list: UnsafePointer<CChar>) -> String? {
    guard let start = strstr(list, "\nPackage: \(name)\n") else { return nil }
    let end = strstr(start, "\n\n").map { $0 - start } ?? strlen(start)
    let record = UnsafeRawBufferPointer(start: start, count: end)
    let lines = record.split(separator: UInt8(ascii: "\n"))
    let mark = "Version: ".utf8
    guard lines.contains(where: { $0.elementsEqual("Status: install ok installed".utf8) }),
      let line = lines.first(where: { $0.starts(with: mark) })
    else { return nil }
    // [epoch:]upstream[-revision]: deb-version(7).
    var version = line.dropFirst(mark.count)
    if let colon = version.firstIndex(of: UInt8(ascii: ":")) { version = version[(colon + 1)...] }
    if let dash = version.lastIndex(of: UInt8(ascii: "-")) { version = version[..<dash] }
    return version.isEmpty ? nil : DisplayText.oneLine(String(decoding: version, as: UTF8.self))
  }
}
