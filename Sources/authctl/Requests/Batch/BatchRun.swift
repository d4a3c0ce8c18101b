internal import AuthKit
internal import Glibc

/// The requests of a batch, from lines of standard input to lines of standard output.
///
/// Memory does not grow with their number: a line is read only when there is room for its request,
/// and answers that wait for an earlier one are limited in number and in bytes.
final class BatchRun {
  /// The most bytes of one answer, and of all under way: they are held in memory.
  private static let largestBody = 16 << 20
  private static let largestBodies = 24 << 20
  /// The most answers, and bytes of them, that may wait for an earlier answer.
  private static let mostHeld = 1000
  private static let largestHeld = 16 << 20

  /// Why no further request is started.
  private enum Stop {
    case signal(Int32)
    case failFast(line: Int)
    case input(Failure)
    /// The server asks to wait this many seconds.
    case busy(Double)
  }

  /// A request under way.
  private struct Flight {
    let id: JSONValue
    let place: Int
    let line: Int
    let wanted: ProtectedRequest
    let began: Double
    var failed = 0
  }

  private let app: App
  private let options: BatchOptions
  private let profile: Profile
  private let keeper: SessionKeeper
  private let batch: ProtectedBatch
  private let accepted: (Int) -> Bool
  /// The limit of -m for each request, in seconds.
  private let timeLimit: Double?
  private let mask: HeaderMask
  private var input = LineInput()
  /// The number of the last line that was read, from 1.
  private var number = 0
  /// The number of requests, the place of the next answer to write, and the answers after it.
  private var count = 0
  private var next = 0
  private var held: [Int: SharedSecret] = [:]
  private var heldBytes = 0
  private var stop: Stop?
  private let policy: RetryPolicy
  private var pace: RateLimit
  /// Requests to retry: when, and the answer to print if the batch stops first.
  private var again: [(due: Double, flight: Flight, outcome: ProtectedBatch.Outcome)] = []
  private var worst: Int32 = 0
  private var failures = BatchFailures()
  /// Lines for standard output.
  private var unwritten = SecretBuilder()
  /// The failure to write standard output.
  private var failure: Failure?

  init(_ app: App, _ options: BatchOptions, _ choice: ProfileChoice, _ keeper: SessionKeeper)
    throws(Failure)
  {
    self.app = app
    self.options = options
    profile = choice.profile
    self.keeper = keeper
    accepted = try options.status.accepted()
    timeLimit = options.network.maximumTime?.seconds
    mask = HeaderMask(choice.profile, app.redactor, showsSecrets: options.showSecrets)
    policy = try options.retries.policy()
    pace = RateLimit(interval: options.retries.rate?.interval ?? 0)
    batch = try ProtectedBatch(
      keeper, options.anonymous ? nil : try app.session(for: choice, keeper),
      count: options.parallel, largestBody: Self.largestBody, largestBodies: Self.largestBodies)
  }

  /// - Returns: the highest exit status of all requests.
  func run() throws(Failure) -> Int32 {
    let relay = try SignalRelay([SIGINT, SIGTERM, SIGHUP])
    if isatty(STDIN_FILENO) == 1 {
      app.console.notice("Reading requests from the terminal, one per line. Press Ctrl-D to end.")
    }
    while true {
      while let signal = relay.next() { interrupt(signal) }
      sendAgain()
      while hasRoom, delay <= 0, let line = input.next() { start(line) }
      if batch.count == 0, again.isEmpty, stop != nil || input.isExhausted { break }
      let wantsInput = hasRoom && delay <= 0 && !input.isExhausted
      let pause = again.map { $0.due - MonotonicClock.now() }.reduce(delay > 0 ? delay : 1, min)
      let ready = try batch.wait(
        milliseconds: Int((min(max(pause, 0), 1) * 1000).rounded(.up)),
        for: [relay.descriptor] + (wantsInput ? [STDIN_FILENO] : []))
      if wantsInput, ready.contains(STDIN_FILENO) { read() }
      try batch.advance()
      try flush()
    }
    return try end(relay)
  }

  // MARK: - Starting

  private var hasRoom: Bool {
    stop == nil && batch.hasRoom && again.count < options.parallel
      && (options.unordered || count - next < Self.mostHeld && heldBytes < Self.largestHeld)
  }

  /// Seconds until the next request may start; 0: now.
  private var delay: Double { pace.wait(now: MonotonicClock.now()) }

  private func read() {
    do throws(Failure) { try input.fill() } catch { stop = .input(error) }
  }

  private func start(_ line: LineInput.Line) {
    guard let (id, request) = read(line) else { return }
    let (place, number) = (count, number)
    count += 1
    do throws(Failure) {
      var wanted = ProtectedRequest(
        try request.get().request(app, profile, keeper, isAnonymous: options.anonymous))
      wanted.accepted = accepted
      wanted.timeLimit = timeLimit
      send(Flight(id: id, place: place, line: number, wanted: wanted, began: MonotonicClock.now()))
    } catch {
      failures.add(status: nil, error)
      finish(place, number, (refusal(id, error), error.kind.exitCode))
    }
  }

  private func send(_ flight: Flight) {
    _ = pace.turn(now: MonotonicClock.now())
    batch.start(flight.wanted) { [self] outcome in settle(flight, outcome) }
  }

  /// Sends the retries that are due; after a stop, prints the answers that they have.
  private func sendAgain() {
    let now = MonotonicClock.now()
    let ready = again.filter { stop != nil || $0.due <= now }
    again.removeAll { stop != nil || $0.due <= now }
    for item in ready {
      if stop == nil, batch.hasRoom, delay <= 0 {
        send(item.flight)
      } else if stop == nil {
        again.append(item)
      } else {
        finish(item.flight, item.outcome)
      }
    }
  }

  /// Takes an answer or schedules a retry. 429 holds for all requests: none starts before the time
  /// that the server asks for (rule B6).
  private func settle(_ flight: Flight, _ answer: ProtectedBatch.Outcome) {
    let now = MonotonicClock.now()
    let told = answer.head.flatMap { RetryPolicy.retryAfter($0, now: Clock.now()) }
    var outcome = RetryPolicy.Outcome.answer(status: answer.head?.status ?? 0, told: told)
    // An answer that broke off is a failure, whatever its status.
    if let failure = answer.failure, !RetryPolicy.isPassing(outcome) { outcome = .failure(failure) }
    var flight = flight
    flight.failed += 1
    var tried = RetryPolicy.Tried(method: flight.wanted.request.method)
    tried.isRepeatable = flight.wanted.request.isRepeatable
    tried.times = flight.failed
    tried.elapsed = now - flight.began
    var wait: Double?
    switch policy.decide(outcome, of: tried) {
    case .take: break
    case .again(let seconds): wait = seconds
    case .tooLong(let seconds) where answer.head?.status != 429:
      app.console.notice(
        "authctl",
        foreign: "line \(flight.line): the server asks to wait \(Timestamp.spoken(seconds)); "
          + "use --retry-max-time to allow more than 60 s")
    case .tooLong: break
    }
    if answer.head?.status == 429 { hold(told ?? wait ?? 1, now) }
    guard let wait, stop == nil else { return finish(flight, answer) }
    let why = answer.head.map { "HTTP \($0.status)" } ?? answer.failure?.message ?? ""
    app.console.notice(
      "authctl",
      foreign: "line \(flight.line): \(why); retrying in \(spoken(wait)) "
        + "(\(flight.failed) of \(policy.times))")
    again.append((now + wait, flight, answer))
  }

  /// Pauses all requests for `seconds`, or stops the batch if that is too long.
  private func hold(_ seconds: Double, _ now: Double) {
    if seconds > max(RetryPolicy.longestWait, policy.maximumTime ?? 0) {
      if stop == nil { stop = .busy(seconds) }
    } else if pace.wait(now: now) < seconds {
      pace.pause(seconds, now: now)
      app.console.notice("authctl", foreign: "HTTP 429; waiting \(spoken(seconds))")
    }
  }

  private func spoken(_ seconds: Double) -> String { Timestamp.spoken(seconds.rounded()) }

  /// Returns a line's id and request; nil for a blank line.
  private func read(_ line: LineInput.Line) -> (id: JSONValue, Result<BatchLine, Failure>)? {
    number += 1
    switch line {
    case .tooLong:
      return (
        .null,
        .failure(Failure(.usage, "line \(number) is longer than \(LineInput.longest >> 20) MiB"))
      )
    case .whole(let bytes):
      let isBlank = bytes.withBytes {
        $0.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      }
      if isBlank { return nil }
      return BatchLine.read(bytes, number: number)
    }
  }

  // MARK: - Answers

  /// Returns the line for an outcome, and counts it if it is a failure.
  private func answer(
    to id: JSONValue, _ outcome: ProtectedBatch.Outcome
  ) -> (answer: BatchAnswer, code: Int32) {
    var answer = BatchAnswer(id: id)
    answer.head = outcome.head
    answer.mask = mask
    answer.body = outcome.body
    if let failure = outcome.failure {
      answer.error = error(failure)
      failures.add(status: outcome.head?.status, failure)
      return (answer, failure.kind.exitCode)
    }
    guard let status = outcome.head?.status, status >= 300, !accepted(status) else {
      return (answer, 0)
    }
    failures.add(status: status, nil)
    return (answer, Failure.Kind(status: status).exitCode)
  }

  private func error(_ failure: Failure) -> JSONValue {
    app.console.json(app.inContext(failure))
  }

  /// Returns the answer to a line that is not sent.
  private func refusal(_ id: JSONValue, _ failure: Failure) -> BatchAnswer {
    var answer = BatchAnswer(id: id)
    answer.error = error(failure)
    return answer
  }

  private func finish(_ flight: Flight, _ outcome: ProtectedBatch.Outcome) {
    finish(flight.place, flight.line, answer(to: flight.id, outcome))
  }

  private func finish(_ place: Int, _ number: Int, _ result: (answer: BatchAnswer, code: Int32)) {
    worst = max(worst, result.code)
    if result.code != 0, options.failFast, stop == nil { stop = .failFast(line: number) }
    put(place, result.answer.line())
  }

  /// Writes an answer, or holds it until all earlier ones are written.
  private func put(_ place: Int, _ line: SharedSecret) {
    guard !options.unordered else { return write(line) }
    held[place] = line
    heldBytes += line.secret.count
    while let line = held.removeValue(forKey: next) {
      next += 1
      heldBytes -= line.secret.count
      write(line)
    }
  }

  /// Collects short lines into one write(2); each turn of `run` flushes them.
  private func write(_ line: SharedSecret) {
    do throws(Failure) {
      if line.secret.count > 65_536 {
        try flush()
        try line.withBytes { (bytes) throws(Failure) in try app.console.write(bytes) }
      } else {
        unwritten.append(line.secret)
        if unwritten.count > 65_536 { try flush() }
      }
    } catch {
      failure = failure ?? error
    }
  }

  private func flush() throws(Failure) {
    if let failure { throw failure }
    guard unwritten.count > 0 else { return }
    defer { unwritten.removeAll() }
    try unwritten.withBytes { (bytes) throws(Failure) in try app.console.write(bytes, as: .json) }
  }

  // MARK: - The end

  /// Starts no further request after the first signal, and abandons the rest after the second.
  private func interrupt(_ signal: Int32) {
    if case .signal? = stop {
      batch.abandon(Failure(.failed, "interrupted before the answer came"))
    }
    stop = .signal(signal)
    if app.console.isErrTerminal {
      app.console.notice(
        "Waiting for the requests that are under way. To stop at once, press Ctrl-C again.")
    }
  }

  private func end(_ relay: SignalRelay) throws(Failure) -> Int32 {
    batch.storeCookies()
    let unsent = answerUnsent()
    try flush()
    if let summary = failures.summary(of: count - unsent) { app.console.notice(line: summary) }
    switch stop {
    case .signal(let signal):
      app.console.report(summary("interrupted", unsent))
      throw relay.reraise(signal)
    case .failFast(let line):
      app.console.report(summary("stopped after line \(line) (--fail-fast)", unsent))
    case .busy(let seconds):
      app.console.report(summary("stopped: the server asks to wait \(spoken(seconds))", unsent))
    case .input(let failure): throw failure
    case nil: break
    }
    return worst
  }

  /// Answers each line that was read but not sent, and returns their number.
  private func answerUnsent() -> Int {
    let why: String
    switch stop {
    case .signal: why = "interrupted"
    case .failFast(let line): why = "line \(line) failed (--fail-fast)"
    case .input: why = "standard input could not be read to its end"
    case .busy(let seconds): why = "the server asks to wait \(spoken(seconds))"
    case nil: return 0
    }
    var unsent = 0
    while let line = input.next() {
      guard let (id, _) = read(line) else { continue }
      unsent += 1
      put(count, refusal(id, Failure(.failed, "not sent: \(why)")).line())
      count += 1
    }
    return unsent
  }

  private func summary(_ what: String, _ unsent: Int) -> Failure {
    Failure(
      .failed, "\(what): \(count - unsent) answered, \(unsent) read and not sent",
      hint: input.isExhausted ? nil : "the input was not read from line \(number + 1) on")
  }
}
