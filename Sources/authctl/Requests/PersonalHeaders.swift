internal import AuthKit

/// The headers that you give a request yourself: by `-H`, `-A` and `-b`, or in a line of `batch`.
/// None of them replaces the recipe's credential (rule B2).
struct PersonalHeaders {
  private(set) var lines: [WireHeader] = []
  private let profile: Profile
  private let redactor: Redactor
  /// Whether the request carries no other credential.
  private let isAnonymous: Bool
  private let isBatch: Bool

  /// Creates an empty list of headers.
  private init(_ profile: Profile, _ redactor: Redactor, isAnonymous: Bool, isBatch: Bool) {
    self.profile = profile
    self.redactor = redactor
    self.isAnonymous = isAnonymous
    self.isBatch = isBatch
  }

  /// Returns whether there is a header `name`, in any case of letters.
  private func contains(_ name: String) -> Bool {
    lines.contains { $0.name.equalsIgnoringCase(name) }
  }

  /// Adds the header `name` unless it was given; nil leaves out what authctl would add.
  mutating func complete(_ name: String, _ value: String?) throws(Failure) {
    guard !contains(name) else { return }
    guard let value else { return lines.append(try WireHeader(removing: name)) }
    lines.append(try WireHeader(name: name, value: value))
  }

  /// Asks for JSON, unless the profile says what its requests accept.
  mutating func acceptJSON() throws(Failure) {
    let isInProfile = profile.recipe.request.headers.contains {
      $0.name.equalsIgnoringCase("Accept")
    }
    if isAnonymous || !isInProfile { try complete("Accept", "application/json") }
  }

  /// Adds the header `name`; nil leaves out what authctl would add.
  ///
  /// - Parameter place: the option in messages; nil: `-H`, or `headers` of a batch line.
  private mutating func add(
    _ name: String, _ value: String?, by place: String? = nil
  ) throws(Failure) {
    let place = place ?? (isBatch ? "headers: " : "-H ") + DisplayText.oneLine(name, limit: 40)
    guard HeaderSyntax.isToken(name) else {
      throw Failure(.usage, "\(place) is not a header name")
    }
    guard isAnonymous || !profile.carriesCredential(in: name) else {
      throw Failure(
        .usage, "\(place): \(profile.name) sends its credential in that header",
        hint: "use --anonymous to send your own")
    }
    if HeaderSyntax.isForbiddenBesideCredential(name) {
      // Requests share connections: a false length could give one line another's answer.
      guard !isBatch else { throw Failure(.usage, "\(place) cannot be used with batch") }
      guard isAnonymous else {
        throw Failure(
          .usage, "\(place) cannot be sent with a credential", hint: "use --anonymous to send it")
      }
    }
    guard let value = value?.trimmingSpaces else {
      return lines.append(try WireHeader(removing: name))
    }
    let header = try WireHeader(name: name, value: value)
    if header.mayBeCredential, !isBatch || Self.namesSecret(name) { redactor.learn(value) }
    lines.append(header)
  }
}

// MARK: - Of a line of a batch

extension PersonalHeaders {
  /// - Throws: `usage`.
  init(
    _ members: [(name: String, value: String?)], _ profile: Profile, _ redactor: Redactor,
    isAnonymous: Bool
  ) throws(Failure) {
    self.init(profile, redactor, isAnonymous: isAnonymous, isBatch: true)
    for (name, value) in members { try add(name, value) }
  }

  /// Returns whether a batch masks the header's value. Masking every possible credential would keep
  /// the values of all lines in memory.
  private static func namesSecret(_ name: String) -> Bool {
    let name = name.asciiLowercased
    return ["auth", "cookie", "token", "secret", "password", "api-key", "apikey"]
      .contains { name.contains(bytesOf: $0) }
  }
}

// MARK: - Of the command line

extension PersonalHeaders {
  /// Collects `-H`, `-A` and `-b`; a header of `-H` takes precedence, as in curl.
  ///
  /// - Throws: `usage`, `failed` for a file that cannot be read.
  init(_ options: RequestOptions, _ profile: Profile, _ redactor: Redactor) throws(Failure) {
    self.init(profile, redactor, isAnonymous: options.anonymous, isBatch: false)
    for text in options.header {
      guard text.utf8.first == UInt8(ascii: "@") else {
        try add(line: text)
        continue
      }
      let file = try File.text(String(text.dropFirst()), option: "-H")
      for line in file.utf8.split(separator: UInt8(ascii: "\n")) {
        let bytes = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
        if !bytes.isEmpty { try add(line: String(decoding: bytes, as: UTF8.self)) }
      }
    }
    if let agent = options.agent, !contains("User-Agent") {
      try add("User-Agent", agent.isEmpty ? nil : agent, by: "-A")
    }
    try add(cookies: options.cookie)
  }

  /// Adds `NAME: VALUE`; `NAME;` sends an empty value, `NAME:` leaves the header out.
  private mutating func add(line: String) throws(Failure) {
    guard let mark = line.utf8.firstIndex(where: { $0 == 0x3A || $0 == 0x3B }) else {
      throw Failure(.usage, "-H \(DisplayText.oneLine(line, limit: 40)): write 'NAME: VALUE'")
    }
    let name = String(decoding: line.utf8[..<mark], as: UTF8.self)
    let value = String(decoding: line.utf8[mark...].dropFirst(), as: UTF8.self).trimmingSpaces
    let isSemicolon = line.utf8[mark] == UInt8(ascii: ";")
    guard !isSemicolon || value.isEmpty else {
      throw Failure(
        .usage,
        "-H \(DisplayText.oneLine(name, limit: 40));: a semicolon is only for a header without a value"
      )
    }
    try add(name, value.isEmpty && !isSemicolon ? nil : value)
  }

  private mutating func add(cookies: [String]) throws(Failure) {
    for text in cookies where !text.utf8.contains(UInt8(ascii: "=")) {
      throw Failure(
        .usage, "-b \(DisplayText.oneLine(text, limit: 40)): write NAME=VALUE",
        hint: "cookie files are not supported; to keep a session's cookies, set request.cookies")
    }
    guard !cookies.isEmpty, !contains("Cookie") else { return }
    let value = cookies.joined(separator: "; ")
    try add("Cookie", value, by: "-b")
    for pair in value.utf8.split(separator: UInt8(ascii: ";")) {
      let mark = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.startIndex
      redactor.learn(String(decoding: pair[mark...].dropFirst(), as: UTF8.self))
    }
  }
}
