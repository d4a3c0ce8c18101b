internal import Glibc

/// The program that answers for org.freedesktop.secrets.
enum SecretServiceProgram: Equatable {
  case gnomeKeyring, kwallet, keepassxc
  /// Its executable or command name, safe to display.
  case other(String)
  /// The bus or the kernel does not show it.
  case unknown

  /// The program of process `pid`.
  init(pid: UInt32) {
    guard let program = programName(pid: pid) else {
      self = .unknown
      return
    }
    let known: [(start: String, program: Self)] = [
      ("gnome-keyring-d", .gnomeKeyring), ("kwalletd", .kwallet), ("ksecretd", .kwallet),
      ("keepassxc", .keepassxc),
    ]
    self =
      known.first { program.utf8.starts(with: $0.start.utf8) }?.program
      ?? .other(keyringText(program))
  }

  /// The name for messages.
  var name: String {
    switch self {
    case .gnomeKeyring: "gnome-keyring"
    case .kwallet: "KWallet"
    case .keepassxc: "KeePassXC"
    case .other(let name): name
    case .unknown: "Secret Service"
    }
  }
}

/// Returns the executable or command name of process `pid`; nil if it is not visible.
private func programName(pid: UInt32) -> String? {
  var path = [UInt8](repeating: 0, count: 4096)
  var count = path.withUnsafeMutableBytes { bytes in
    bytes.withMemoryRebound(to: CChar.self) { chars in
      chars.baseAddress.map { readlink("/proc/\(pid)/exe", $0, chars.count) } ?? -1
    }
  }
  if count <= 0 {
    // gnome-keyring-daemon has a capability on Debian, which hides `exe` from other processes.
    // The kernel cuts `comm` to 15 bytes.
    let descriptor = open("/proc/\(pid)/comm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    count = path.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
  }
  guard count > 0 else { return nil }
  let name = path[..<count].prefix { $0 != UInt8(ascii: "\n") }
    .split(separator: UInt8(ascii: "/")).last
  let program = String(decoding: name ?? [], as: UTF8.self)
  return program.isEmpty ? nil : program
}
