internal import AuthKit
internal import Glibc

/// The kinds of secrets that a command accepts, in the order in which their `-stdin` options read
/// (design 2).
enum SecretKind: Int, CaseIterable {
  case password
  case otp
  case clientSecret
  case appKey
  case token
  case refreshToken
  case subjectToken
  case keyPassphrase
  case proxyUser

  /// The name in messages.
  var name: String {
    switch self {
    case .password: "password"
    case .otp: "one-time code"
    case .clientSecret: "client secret"
    case .appKey: "app key"
    case .token: "token"
    case .refreshToken: "refresh token"
    case .subjectToken: "subject token"
    case .keyPassphrase: "passphrase of the key"
    case .proxyUser: "name and password for the proxy"
    }
  }

  /// The prompt on a terminal, without the origin that gets it.
  var prompt: String {
    switch self {
    case .password: "Password"
    case .otp: "One-time code"
    case .clientSecret: "Client secret"
    case .appKey: "App key"
    case .token: "Token"
    case .refreshToken: "Refresh token"
    case .subjectToken: "Subject token"
    case .keyPassphrase: "Passphrase of the key"
    case .proxyUser: "Name and password for the proxy (NAME:PASSWORD)"
    }
  }

  /// The beginning of its options: `--STEM-stdin`.
  var stem: String {
    switch self {
    case .password: "password"
    case .otp: "otp"
    case .clientSecret: "client-secret"
    case .appKey: "app-key"
    case .token: "token"
    case .refreshToken: "refresh-token"
    case .subjectToken: "subject-token"
    case .keyPassphrase: "pass"
    case .proxyUser: "proxy-user"
    }
  }

  /// The environment variable that gives it. Tokens have none: `AUTHCTL_TOKEN` replaces a
  /// session, it does not make one.
  var variable: Variable? {
    switch self {
    case .password: .password
    case .otp: .otp
    case .clientSecret: .clientSecret
    case .appKey: .appKey
    case .subjectToken: .subjectToken
    case .proxyUser: .proxyUser
    case .token, .refreshToken, .keyPassphrase: nil
    }
  }

  /// The maximum number of bytes. Tokens that list groups and rights exceed 4 KiB.
  var limit: Int {
    switch self {
    case .password, .otp, .clientSecret, .appKey, .keyPassphrase, .proxyUser: 4096
    case .token, .refreshToken, .subjectToken: 65536
    }
  }
}

/// The source of one secret on the command line.
struct SecretSource {
  var kind: SecretKind
  /// `--STEM-stdin`.
  var fromStdin = false
  /// `--STEM-file F`; `-` is standard input.
  var file: String?
  /// `--STEM-fd N`.
  var descriptor: Int32?
  /// `--STEM-command CMD`.
  var command: String?
  /// The variable that names the file, if no option does.
  var variable: String?

  /// Whether an option gives it.
  var isGiven: Bool { !options.isEmpty }

  /// The option that gives it again; CMD stands for a command, which may hold a secret.
  var words: [String]? {
    let option = "--\(kind.stem)-"
    if fromStdin || file == "-" { return [option + "stdin"] }
    if let file { return [option + "file", file] }
    if let descriptor { return [option + "fd", "\(descriptor)"] }
    return command == nil ? nil : [option + "command", "CMD"]
  }

  /// The options that were given, as they are spelled.
  fileprivate var options: [String] {
    var suffixes: [String] = []
    if fromStdin { suffixes.append("stdin") }
    if file != nil { suffixes.append("file") }
    if descriptor != nil { suffixes.append("fd") }
    if command != nil { suffixes.append("command") }
    return suffixes.map { variable ?? "--\(kind.stem)-\($0)" }
  }
}

/// Reads secrets from the sources that the command line and the environment name (design 4).
///
/// It reads nothing before a caller asks for it, but takes lines of standard input in the order of
/// `SecretKind`, whichever is asked for first. A stream that is a terminal is not read: the secret
/// is asked for, without echo.
final class SecretReader {
  private let environment: [String: String]
  private let redactor: Redactor
  /// Asks for a secret on the terminal.
  private let ask: (SecretKind) throws(Failure) -> Secret
  private var sources: [SecretKind: SecretSource] = [:]
  private var lines: [SecretKind: SharedSecret] = [:]

  /// - Parameters:
  ///   - redactor: learns every secret that is read.
  ///   - ask: asks for a secret on the terminal.
  /// - Throws: `usage` when two options give one secret or a descriptor is not open.
  init(
    sources given: [SecretSource], environment: [String: String], redactor: Redactor,
    ask: @escaping (SecretKind) throws(Failure) -> Secret
  ) throws(Failure) {
    self.environment = environment
    self.redactor = redactor
    self.ask = ask
    for var source in given {
      let options = source.options
      if options.isEmpty { continue }
      if options.count > 1 {
        let both = options.prefix(2).joined(separator: " and ")
        throw Failure(.usage, "\(both) both give the \(source.kind.name); use one of them")
      }
      if let descriptor = source.descriptor { try Self.keepToOurselves(descriptor, options[0]) }
      if source.descriptor == STDIN_FILENO || isDash(source.file) {
        source = SecretSource(kind: source.kind, fromStdin: true, variable: source.variable)
      }
      sources[source.kind] = source
    }
  }

  /// Whether an option gives it.
  func hasOption(for kind: SecretKind) -> Bool { sources[kind] != nil }

  /// Whether an option or a variable gives it, so that no prompt is needed.
  func isGiven(_ kind: SecretKind) -> Bool {
    sources[kind] != nil || kind.variable.map { environment[$0.rawValue] != nil } ?? false
  }

  /// Returns the secret; without an option or a variable, and in place of a line of a terminal, the
  /// result of `prompt`.
  ///
  /// Each call reads the file or runs the command again; a line of a stream is read only once.
  ///
  /// - Throws: `usage` for an unfit secret or file, `inputNeeded` when a stream has ended or a
  ///   command failed, and what `prompt` throws.
  /// - Returns: nil when there is no source at all.
  func read(
    _ kind: SecretKind, prompt: (() throws(Failure) -> Secret)? = nil
  ) throws(Failure) -> Secret? {
    guard let secret = try find(kind, prompt) else { return nil }
    redactor.learn(secret)
    return secret
  }

  private func find(
    _ kind: SecretKind, _ prompt: (() throws(Failure) -> Secret)?
  ) throws(Failure) -> Secret? {
    guard let source = sources[kind] else {
      if let variable = kind.variable?.rawValue, let value = environment[variable] {
        return try fromVariable(variable, value, kind)
      }
      return try prompt?()
    }
    let option = source.options[0]
    if let stream = source.fromStdin ? STDIN_FILENO : source.descriptor, isatty(stream) == 1 {
      guard let prompt else { return try ask(kind) }
      return try prompt()
    }
    if source.fromStdin {
      try readStandardInput(upTo: kind)
    } else if let descriptor = source.descriptor, lines[kind] == nil {
      let line = try Self.line(from: descriptor, kind, "descriptor \(descriptor)", option)
      lines[kind] = SharedSecret(line)
    }
    // Hand the line over, so that no copy stays here; a stream has no second line for it.
    if let line = lines[kind] {
      lines[kind] = nil
      sources[kind] = nil
      return line.secret.copy()
    }
    if let file = source.file { return try fromFile(file, kind, option) }
    guard let command = source.command else { return nil }
    return try SecretCommand.first(kind, of: command, option: option, environment: environment)
  }

  private func fromVariable(
    _ variable: String, _ value: String, _ kind: SecretKind
  ) throws(Failure) -> Secret {
    try Secret(value).withBytes { bytes throws(Failure) in
      let line = SecretText.withoutLineEnd(bytes)
      return try SecretText.checked(line, name: kind.name, from: variable, limit: kind.limit)
    }
  }

  private func fromFile(
    _ path: String, _ kind: SecretKind, _ option: String
  ) throws(Failure) -> Secret {
    let file = try PrivateFile(path, option: option, environment: environment)
    return try Self.line(from: file.descriptor, kind, DisplayText.oneLine(path), option)
  }

  private func readStandardInput(upTo last: SecretKind) throws(Failure) {
    for kind in SecretKind.allCases where kind.rawValue <= last.rawValue && lines[kind] == nil {
      guard let source = sources[kind], source.fromStdin else { continue }
      let line = try Self.line(from: STDIN_FILENO, kind, "standard input", source.options[0])
      lines[kind] = SharedSecret(line)
    }
  }

  /// Reads one line byte by byte: the rest belongs to the next option, to `-d @-`, or to the child
  /// of `exec`.
  private static func line(
    from descriptor: Int32, _ kind: SecretKind, _ stream: String, _ option: String
  ) throws(Failure) -> Secret {
    var line = SecretBuilder(capacity: kind.limit + 2)
    // Room for the line and its CR LF; the check below rejects anything longer.
    while line.count < kind.limit + 2 {
      let byte: UInt8?
      do throws(SystemError) { byte = try Descriptor.byte(descriptor) } catch {
        throw Failure(error.kindForInput, "\(option): \(stream): \(error.reason)")
      }
      if let byte {
        line.append(byte)
        if byte == UInt8(ascii: "\n") { break }
      } else if line.count == 0 && !isRegular(descriptor) {
        throw Failure(
          .inputNeeded, "\(stream) ended before the \(kind.name)",
          hint: "\(option) reads one line")
      } else {
        break
      }
    }
    return try line.secret().withBytes { bytes throws(Failure) in
      let text = SecretText.firstLine(bytes)
      return try SecretText.checked(text, name: kind.name, from: option, limit: kind.limit)
    }
  }

  // An empty file holds an empty password; an empty stream holds none.
  private static func isRegular(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
      && descriptor != STDIN_FILENO
  }

  // Children inherit the descriptors that the caller passed, except this one (rule B11).
  private static func keepToOurselves(_ descriptor: Int32, _ option: String) throws(Failure) {
    let flags = descriptor < 0 ? -1 : fcntl(descriptor, F_GETFD)
    guard flags >= 0 else { throw Failure(.usage, "\(option): \(descriptor) is not open") }
    if descriptor > STDERR_FILENO { _ = fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) }
  }
}

private func isDash(_ file: String?) -> Bool {
  file?.utf8.elementsEqual("-".utf8) ?? false
}
