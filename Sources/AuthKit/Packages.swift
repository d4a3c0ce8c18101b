internal import CSystem
internal import Glibc

/// What the list of Debian's package manager says is installed; where there is none, nothing is
/// known. https://manpages.debian.org/bookworm/dpkg/dpkg-query.1.en.html
enum Packages {
  private static let list = "/var/lib/dpkg/status"

  /// The upstream version of the first of `names` that is installed: `0.20.5` of `0.20.5-3`.
  static func version(ofAny names: [String]) -> String? {
    guard let text = contents() else { return nil }
    defer { munmap(UnsafeMutableRawPointer(mutating: text.baseAddress), text.count) }
    for name in names {
      if let version = version(of: name, in: text) { return version }
    }
    return nil
  }

  /// A megabyte or more, mapped and searched by the C library: each `--version` waits for it.
  private static func contents() -> UnsafeRawBufferPointer? {
    let file = open(list, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, let size = Int(exactly: status.st_size), size > 0,
      let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, file, 0), start != MAP_FAILED
    else { return nil }
    return UnsafeRawBufferPointer(start: start, count: size)
  }

  private static func version(of name: String, in list: UnsafeRawBufferPointer) -> String? {
    guard let start = place(of: "\nPackage: \(name)\n", in: list) else { return nil }
    let rest = UnsafeRawBufferPointer(rebasing: list[start...])
    let record = UnsafeRawBufferPointer(
      rebasing: rest[..<(place(of: "\n\n", in: rest) ?? rest.count)])
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

  private static func place(of words: String, in text: UnsafeRawBufferPointer) -> Int? {
    guard let start = text.baseAddress else { return nil }
    var words = words
    return words.withUTF8 { authctl_memmem(start, text.count, $0.baseAddress, $0.count) }
      .map { $0 - start }
  }
}
