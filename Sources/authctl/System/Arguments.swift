internal import CSystem

/// The arguments of this process, its name first.
enum Arguments {
  /// Their bytes as they were given.
  static var raw: [UnsafeMutablePointer<CChar>] {
    var count: Int32 = 0
    let list = authctl_arguments(&count)
    return (0..<Int(count)).compactMap { list?[$0] }
  }

  /// Their texts, in which invalid UTF-8 is repaired.
  static var texts: [String] { raw.map { String(cString: $0) } }
}
