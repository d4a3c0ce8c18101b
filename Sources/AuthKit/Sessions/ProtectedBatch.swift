/// Parallel requests with one session: one renewal serves all of them.
///
/// Only `wait` and a renewal block. Before a renewal, all requests under way finish; then the
/// refused ones are sent once more.
package final class ProtectedBatch {
  /// The result of one request.
  package struct Outcome {
    /// The status line and headers of the answer, if there is one.
    package let head: ResponseHead?
    /// The whole body, decoded if requested; empty after a failure.
    package let body: ByteBuffer
    /// The failure: no answer, an incomplete one, or one that refuses the session.
    package let failure: Failure?
  }

  /// Receives the result of one request.
  package typealias Finish = (Outcome) -> Void

  private final class Job {
    let wanted: ProtectedRequest
    let finish: Finish
    var attempt: SessionKeeper.Attempt
    var head: ResponseHead?
    var body = ByteBuffer()
    /// The generation of the session it was sent with.
    var generation = 0
    /// The answer that refused the session.
    var rejection: RecipeResponse?
    var isRepeat = false

    init(_ wanted: ProtectedRequest, _ finish: @escaping Finish) {
      self.wanted = wanted
      self.finish = finish
      attempt = SessionKeeper.Attempt(wanted, mayRenew: false)
    }

    func fail(_ failure: Failure) {
      finish(Outcome(head: head, body: ByteBuffer(), failure: failure))
    }
  }

  /// The number of new cookies after which they are stored.
  private static let mostCookies = 100

  private let keeper: SessionKeeper
  private let exchanges: ParallelExchanges
  private let limit: Int
  private let largestBody: Int
  private let largestBodies: Int
  /// The body bytes held for all requests under way.
  private var bodyBytes = 0
  /// Nil if the requests carry no session.
  private var carried: CarriedSession?
  /// The number of times that the session was replaced.
  private var generation = 0
  private var jobs: [ObjectIdentifier: Job] = [:]
  /// The credential of the last request.
  private var filled: (generation: Int, method: String, credential: Credential)?
  /// Requests that wait for the session to be renewed.
  private var waiting: [Job] = []
  /// New cookies that are not stored yet: storing takes longer than a request.
  private var newCookies: [HTTPClient.NewCookie] = []
  /// Why there is no session, and until when no renewal is tried; nil for good.
  private var trouble: (failure: Failure, until: Timestamp?)?

  /// - Parameters:
  ///   - session: the session that the requests carry, if any.
  ///   - count: the most requests at a time. One where every answer brings a new token: the order
  ///     of two simultaneous answers is unknown.
  ///   - largestBody: the most bytes of one answer, which is held in memory.
  ///   - largestBodies: the most bytes of all answers under way.
  /// - Throws: `failed` without libcurl.
  package init(
    _ keeper: SessionKeeper, _ session: Session?, count: Int, largestBody: Int,
    largestBodies: Int
  ) throws(Failure) {
    self.keeper = keeper
    self.largestBodies = largestBodies
    self.largestBody = largestBody
    limit = keeper.profile.recipe.session.renewOnEveryResponse && session != nil ? 1 : count
    exchanges = try ParallelExchanges(keeper.api.http, count: limit)
    carried = session.map(keeper.carry)
  }

  /// The number of requests that have no result yet.
  package var count: Int { jobs.count + waiting.count }

  /// Whether another request may start now.
  package var hasRoom: Bool { !isPaused && count < limit }

  /// Whether no new request starts until those under way finish and the session is renewed.
  private var isPaused: Bool { !waiting.isEmpty }

  /// Starts a request; `finish` receives the result, immediately if it cannot be sent.
  package func start(_ wanted: ProtectedRequest, finish: @escaping Finish) {
    let job = Job(wanted, finish)
    do throws(Failure) {
      if let carried {
        try keeper.check(wanted.request.url, for: carried.session)
        let isReady = isReady(carried)
        if let failure = currentTrouble(isGood: isReady) { throw failure }
        if isPaused || !isReady { return waiting.append(job) }
      } else if try !keeper.api.requestOrigins().contains(wanted.request.url.origin) {
        throw Failure(
          .originRefused,
          "\(keeper.profile.name): \(wanted.request.url.origin) is not an origin of this profile",
          hint: "to send it without a credential, run: authctl get --anonymous URL")
      }
      try send(job)
    } catch {
      job.fail(error)
    }
  }

  /// Waits until there is something to do, one of `descriptors` can be read, or the time is up.
  ///
  /// - Returns: the descriptors that can be read or have reached their end.
  package func wait(milliseconds: Int, for descriptors: [Int32]) throws(Failure) -> [Int32] {
    try exchanges.wait(
      milliseconds: isPaused && jobs.isEmpty ? 0 : milliseconds, for: descriptors)
  }

  /// Does what can be done without waiting, and renews the session once no request is under way.
  package func advance() throws(Failure) {
    try exchanges.advance()
    if newCookies.count >= Self.mostCookies { storeCookies() }
    if isPaused, jobs.isEmpty { replaceSession() }
  }

  /// Stores the cookies that the answers have set; call it at the end too.
  package func storeCookies() {
    guard let session = carried?.session, session.variable == nil, !newCookies.isEmpty else {
      return
    }
    do throws(Failure) {
      try keeper.update(session, cookies: newCookies, tokens: nil)
    } catch {
      keeper.warn("\(session.profile): new cookies could not be stored: \(error.message)")
    }
    newCookies = []
  }

  /// Gives up all requests that have no result yet; each fails with `failure`.
  package func abandon(_ failure: Failure) {
    let given = Array(jobs.values) + waiting
    jobs = [:]
    waiting = []
    for job in given { job.fail(failure) }
  }

  // MARK: - One request

  private func send(_ job: Job) throws(Failure) {
    job.rejection = nil
    job.head = nil
    forget(job)
    job.generation = generation
    var credential: Credential?
    if let carried {
      let mayRenew = carried.lease.mayRenew(condition(of: carried), now: keeper.clock())
      job.attempt = SessionKeeper.Attempt(
        job.wanted, mayRenew: !job.isRepeat && mayRenew, storesCookiesLater: true)
      switch try attached(carried.session, job.wanted) {
      case .ready(let ready): credential = ready
      case .rejected(let answer): return try refused(job, answer)
      }
    }
    let wanted = job.wanted
    jobs[ObjectIdentifier(job)] = job
    exchanges.start(
      Exchange(
        keeper.api.http, wanted.request, credential: credential, redirects: wanted.redirects,
        timeLimit: wanted.timeLimit)
    ) { [self] (head, hops) throws(Failure) in
      guard var session = carried?.session else { return job.head = head }
      try keeper.receiveHead(head, hops, &job.attempt, &session) { (head, _) in job.head = head }
      if session.cookies != carried?.session.cookies { newCookies += job.attempt.newCookies }
      carried?.session = session
    } onBody: { [self] (bytes) throws(Failure) in
      try keeper.receiveBody(bytes, &job.attempt) { (head, _) in
        job.head = head
      } _: { (bytes) throws(Failure) in
        try collect(bytes, job)
      }
    } onEnd: { [self] failure in
      ended(job, failure.map(SessionKeeper.ofRequest))
    }
  }

  /// Returns the credential: the same for all requests of one method, unless there is a prefetch or
  /// an answer can change it.
  private func attached(
    _ session: Session, _ wanted: ProtectedRequest
  ) throws(Failure) -> SessionKeeper.Attached {
    let (recipe, method) = (keeper.profile.recipe, wanted.request.method)
    if let filled, filled.generation == generation, filled.method == method {
      return .ready(filled.credential)
    }
    let attached = try keeper.credential(of: session, for: wanted)
    if case .ready(let credential) = attached, recipe.prefetch == nil, !recipe.request.cookies,
      !recipe.session.renewOnEveryResponse
    {
      filled = (generation, method, credential)
    }
    return attached
  }

  private func collect(_ bytes: UnsafeRawBufferPointer, _ job: Job) throws(Failure) {
    guard job.body.count + bytes.count <= largestBody else {
      throw Failure(
        .failed, "the answer is longer than \(largestBody >> 20) MiB",
        hint: "to save an answer of any length, run: authctl get -o FILE /PATH")
    }
    guard bodyBytes + bytes.count <= largestBodies else {
      throw Failure(
        .failed, "the answers in progress are longer than \(largestBodies >> 20) MiB in total",
        hint: "request fewer at a time with --parallel N")
    }
    bodyBytes += bytes.count
    job.body.append(bytes)
  }

  /// Releases the body.
  private func forget(_ job: Job) {
    bodyBytes -= job.body.count
    job.body = ByteBuffer()
  }

  private func ended(_ job: Job, _ failure: Failure?) {
    // `abandon` has already reported it.
    guard jobs.removeValue(forKey: ObjectIdentifier(job)) != nil else { return forget(job) }
    do throws(Failure) {
      if let failure { throw failure }
      let rejection = try keeper.rejection(&job.attempt) { (head, _) in
        job.head = head
      } _: { (bytes) throws(Failure) in
        try collect(bytes, job)
      }
      if let rejection { return try refused(job, rejection) }
      if let session = carried?.session, let status = job.head?.status {
        keeper.noteAnswer(status, to: session)
      }
      if job.generation == generation { carried?.lease.wasAccepted(isRepeat: job.isRepeat) }
      job.finish(Outcome(head: job.head, body: job.body, failure: nil))
      forget(job)
    } catch {
      forget(job)
      job.fail(error)
    }
  }

  /// Sends a refused request again with another session, or fails it.
  private func refused(_ job: Job, _ answer: RecipeResponse) throws(Failure) {
    guard let carried else { return }
    job.head = answer.head
    if job.generation != generation {
      job.isRepeat = true
      return try send(job)
    }
    if job.isRepeat { self.carried?.lease.wasRefusedAgain(now: keeper.clock()) }
    let step = carried.lease.afterRefusal(
      condition(of: carried), isRepeat: job.isRepeat, now: keeper.clock())
    guard step != .reject else { throw keeper.rejected(carried.session, answer) }
    job.rejection = answer
    waiting.append(job)
  }

  // MARK: - The session

  private func condition(of carried: CarriedSession) -> SessionLease.Condition {
    keeper.condition(of: carried.session)
  }

  /// Whether the session can be used for another request as it is.
  private func isReady(_ carried: CarriedSession) -> Bool {
    carried.lease.beforeSending(condition(of: carried)) == .use
  }

  private func currentTrouble(isGood: Bool) -> Failure? {
    guard let trouble else { return nil }
    guard let until = trouble.until else { return trouble.failure }
    return isGood || keeper.clock().seconds > until.seconds ? nil : trouble.failure
  }

  /// Renews the session once nothing is under way, and sends the waiting requests.
  private func replaceSession() {
    guard let before = carried else { return }
    let jobs = waiting
    waiting = []
    do throws(Failure) {
      if let failure = currentTrouble(isGood: false) { throw failure }
      let refused = jobs.filter { $0.rejection != nil }
      let isReplaced = try replace(isRepeat: refused.allSatisfy(\.isRepeat))
      for job in jobs {
        do throws(Failure) {
          if let answer = job.rejection {
            guard isReplaced else { throw keeper.rejected(before.session, answer) }
            job.isRepeat = true
          }
          try send(job)
        } catch {
          job.fail(error)
        }
      }
    } catch {
      let isOver = error.kind == .sessionExpired
      let end = Timestamp(seconds: keeper.clock().seconds + SessionLease.patience)
      trouble = (error, isOver ? nil : end)
      for job in jobs { job.fail(error) }
    }
  }

  /// Replaces the session; returns whether there is a new one.
  private func replace(isRepeat: Bool) throws(Failure) -> Bool {
    guard var next = carried else { return false }
    // A renewal reads the stored session: store the new cookies first.
    storeCookies()
    var isReplaced = true
    if isReady(next) {
      // Keep the lease even on failure, so that not every refused request reads the store again.
      defer { carried?.lease = next.lease }
      isReplaced = try keeper.replace(&next, isRepeat: isRepeat)
    } else {
      try keeper.makeReady(&next)
    }
    guard isReplaced else { return false }
    carried = next
    generation += 1
    return true
  }
}
