import Synchronization
import Testing

/// Runs a conversation with the real binary in a sandbox, against a server that checks each
/// request.
struct ConversationRun {
  typealias Complaint = Conversation.Complaint

  /// Commands that print the server's response byte for byte: no line feed is added.
  private static let requests: Set = [
    "get", "request", "head", "post", "put", "patch", "delete", "batch",
  ]
  private static let tokenPrinters: Set = ["token", "exec", "helper"]

  private let box: Sandbox
  private let server: ConversationServer
  private let secrets: [String]
  /// The secrets found so far, as `Canary` reports them.
  private var leaks: Set<String> = []

  /// Every difference from `text`. The run stops after a command with other requests or another
  /// exit code: later differences would only follow from it.
  static func complaints(_ text: String, preset: String) async throws -> [Complaint] {
    try await Sandbox.with { box in
      let server = ConversationServer()
      let recorder = try box.recorder(answering: server.answering)
      do {
        let conversation = try Conversation(parsing: text, origin: recorder.url)
        try await addProfile(box, recorder.url, preset, conversation)
        var run = ConversationRun(box: box, server: server, secrets: conversation.secrets)
        var found: [Complaint] = []
        for command in conversation.commands {
          let (complaints, isLost) = try await run.speak(command)
          found += complaints
          if isLost { break }
        }
        return found.sorted { $0.line < $1.line }
      } catch let complaint as Complaint {
        return [complaint]
      }
    }
  }

  private static func addProfile(
    _ box: Sandbox, _ origin: String, _ preset: String, _ conversation: Conversation
  ) async throws {
    let run = try await box.run(
      ["profile", "add", "api", origin + conversation.base, "--preset", preset]
        + conversation.settings.flatMap { ["--set", $0] })
    guard run.status == 0 else {
      throw Complaint(line: 1, text: "profile add ended with \(run.status)" + said(run.stderr))
    }
  }

  private init(box: Sandbox, server: ConversationServer, secrets: [String]) {
    (self.box, self.server, self.secrets) = (box, server, secrets)
  }

  /// Runs one command. `isLost` means that the rest of the conversation cannot be checked.
  private mutating func speak(
    _ command: Conversation.Command
  ) async throws -> (complaints: [Complaint], isLost: Bool) {
    let verb = command.words.first { !$0.hasPrefix("-") } ?? ""
    let printsSecrets = Self.requests.union(Self.tokenPrinters).contains(verb)
    var environment: [String: String?] = [:]
    if verb == "login" || verb == "register" {
      environment["AUTHCTL_PASSWORD"] = Conversation.password
    }
    for (name, value) in command.environment { environment[name] = value }
    let isNamed = command.words.contains { $0 == "-p" || $0 == "--profile" }
    server.expect(command)
    let run = try await box.run(
      (isNamed ? [] : ["-p", "api"]) + command.words, env: environment,
      mayPrint: printsSecrets ? secrets.filter { $0 != Conversation.password } : [])
    var complaints = server.end()
    let isLost = server.isLost || run.status != command.status
    complaints += Self.compare(run, with: command, endsLine: !Self.requests.contains(verb))
    complaints += findLeaks(of: command, run)
    return (complaints, isLost)
  }

  /// Compares exit code, stdout and stderr.
  private static func compare(
    _ run: Run, with command: Conversation.Command, endsLine: Bool
  ) -> [Complaint] {
    var complaints: [Complaint] = []
    if let status = command.status, run.status != status {
      complaints.append(
        Complaint(command.line, "exit status", "\(status)", "\(run.status)", said(run.stderr)))
    }
    let lines = command.out.map(\.text).joined(separator: "\n")
    let out = lines + (endsLine && !command.out.isEmpty ? "\n" : "")
    if !run.stdoutBytes.elementsEqual(out.utf8) {
      let line = command.out.first?.line ?? command.line
      complaints.append(Complaint(line, "stdout", out, run.stdout, said(run.stderr)))
    }
    for wanted in command.err where find(Array(wanted.text.utf8), in: run.stderrBytes) == nil {
      complaints.append(Complaint(wanted.line, "stderr holds", wanted.text, run.stderr))
    }
    return complaints
  }

  /// Finds secrets wherever `Canary` searches, and also in stderr of a command that may print some.
  private mutating func findLeaks(of command: Conversation.Command, _ run: Run) -> [Complaint] {
    var places = box.canary.findings(box, secrets)
    for secret in secrets where find(Array(secret.utf8), in: run.stderrBytes) != nil {
      places.append("\(secret) in stderr of \(run.command.joined(separator: " "))")
    }
    return places.filter { leaks.insert($0).inserted }.map {
      Complaint(line: command.line, text: "secret found: \($0)")
    }
  }

  private static func said(_ stderr: String) -> String {
    "\nstderr:" + (stderr.isEmpty ? " empty" : "\n" + stderr)
  }
}

/// The server: compares each request with the expected one.
final class ConversationServer: Sendable {
  typealias Complaint = Conversation.Complaint

  private struct State {
    /// The line of the running command.
    var line = 1
    var rest: ArraySlice<Conversation.Exchange> = []
    var complaints: [Complaint] = []
    var isLost = false
  }
  private let state = Mutex(State())

  /// For `Sandbox.recorder(answering:)`.
  var answering: Recorder.Answering { { _, bytes in self.answer(HTTPRequest(bytes)) } }

  /// From now on, expects the requests of `command`.
  func expect(_ command: Conversation.Command) {
    state.withLock {
      $0.line = command.line
      $0.rest = command.exchanges[...]
    }
  }

  /// The differences in the requests of the command that ended.
  func end() -> [Complaint] {
    state.withLock { state in
      if !state.isLost {
        state.complaints += state.rest.map {
          Complaint(line: $0.line, text: "the request \($0.request) never came")
        }
        state.isLost = !state.rest.isEmpty
      }
      defer { state.complaints = [] }
      return state.complaints
    }
  }

  /// Whether an unexpected request came or an expected one did not.
  var isLost: Bool { state.withLock { $0.isLost } }

  private func answer(_ request: HTTPRequest) -> Recorder.Answer {
    state.withLock { state in
      let wanted = state.rest.first
      guard let wanted, request.matches(wanted.request, request.line) else {
        if !state.isLost {
          state.complaints.append(
            Complaint(
              wanted?.line ?? state.line, "request", wanted?.request ?? "no further one",
              request.line, "\n" + request.text))
        }
        state.isLost = true
        return .http(500, #"{"message":"the conversation has no such request here"}"#)
      }
      state.rest.removeFirst()
      state.complaints += Self.compare(request, with: wanted)
      return Self.answer(of: wanted)
    }
  }

  private static func compare(
    _ request: HTTPRequest, with wanted: Conversation.Exchange
  ) -> [Complaint] {
    var complaints: [Complaint] = []
    var seen: Set<String> = []
    for header in wanted.headers where seen.insert(header.name.lowercased()).inserted {
      let values = wanted.headers.filter { $0.name.lowercased() == header.name.lowercased() }
        .map(\.value)
      let got = request.values(of: header.name)
      if got.count == values.count, zip(values, got).allSatisfy({ request.matches($0, $1) }) {
        continue
      }
      complaints.append(
        Complaint(
          header.line, "header \(header.name)", values.joined(separator: " | "),
          got.isEmpty ? "no such header" : got.joined(separator: " | ")))
    }
    for name in wanted.forbidden {
      let got = request.values(of: name.text)
      if got.isEmpty { continue }
      complaints.append(
        Complaint(
          name.line, "header \(name.text)", "no such header", got.joined(separator: " | ")))
    }
    let body = wanted.body.map(\.text).joined(separator: "\r\n")
    if !request.matches(body, request.body) {
      complaints.append(
        Complaint(wanted.body.first?.line ?? wanted.line, "body", body, request.body))
    }
    return complaints
  }

  private static func answer(of exchange: Conversation.Exchange) -> Recorder.Answer {
    let isType: (Conversation.Header) -> Bool = { $0.name.lowercased() == "content-type" }
    return .http(
      exchange.status ?? 500, exchange.answer.joined(separator: "\n"),
      type: exchange.answerHeaders.first(where: isType)?.value ?? "application/json",
      headers: exchange.answerHeaders.filter { !isType($0) }.map { ($0.name, $0.value) })
  }
}

/// A request as received.
struct HTTPRequest: Sendable {
  /// Method and target: `GET /me?a=1`.
  let line: String
  let body: String
  /// The whole request.
  let text: String
  private let headers: [(name: String, value: String)]

  init(_ bytes: [UInt8]) {
    text = String(decoding: bytes, as: UTF8.self)
    let end = find(Array("\r\n\r\n".utf8), in: bytes) ?? bytes.count
    let lines = bytes[..<end].split(separator: 10).map { line in
      String(decoding: line.filter { $0 != 13 }, as: UTF8.self)
    }
    line = (lines.first ?? "").split(separator: " ").dropLast().joined(separator: " ")
    body = String(decoding: bytes.dropFirst(end + 4), as: UTF8.self)
    headers = lines.dropFirst().map { line in
      let value = line.drop { $0 != ":" }.dropFirst().drop { $0 == " " }
      return (line.prefix { $0 != ":" }.lowercased(), String(value))
    }
  }

  /// The values of all headers of this name.
  func values(of name: String) -> [String] {
    headers.filter { $0.name == name.lowercased() }.map(\.value)
  }

  /// Whether `part` of this request equals `wanted`, apart from placeholders.
  func matches(_ wanted: String, _ part: String) -> Bool {
    let type = values(of: "content-type").first ?? ""
    let boundary = type.firstMatch(of: /boundary=(.+)$/).map { String($0.1) } ?? "{boundary}"
    let mark = Array("{unique}".utf8)
    var wanted = Array(wanted.replacing("{boundary}", with: boundary).utf8)[...]
    var got = Array(part.utf8)[...]
    while let byte = wanted.first {
      if wanted.starts(with: mark) {
        let digits = got.prefix(16)
        guard digits.count == 16, digits.allSatisfy("0123456789abcdef".utf8.contains) else {
          return false
        }
        wanted = wanted.dropFirst(mark.count)
        got = got.dropFirst(16)
      } else {
        guard got.popFirst() == byte else { return false }
        wanted = wanted.dropFirst()
      }
    }
    return got.isEmpty
  }
}
