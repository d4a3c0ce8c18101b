/// One finding of `doctor` or `store test`: what was checked, and the result.
package struct Check: Sendable {
  /// The result of a check; the raw value is its name in JSON (design 2).
  package enum Result: String, Sendable {
    case ok, warn, fail, skipped
  }

  /// The thing checked; the raw value is its name in text and JSON.
  package enum Subject: String, Sendable {
    // The machine.
    case versions, libcurl, config, state, proxy, variables
    // The store.
    case store, bus, daemon, collection, folder, key, sessions, probe
    // A profile and its server; `session` is also the encryption of the bus.
    case profile, reach, answer, certificate, clock, session

    /// Whether the finding says where the store keeps its items.
    package var isPlaceOfStore: Bool { self == .daemon || self == .folder }
  }

  /// The thing checked.
  package var subject: Subject
  /// The profile that it is about; nil for the machine.
  package var profile: String?
  /// The result.
  package var result: Result
  /// What was seen; never a secret.
  package var detail: String
  /// How to fix it: a command or a fact.
  package var hint: String?
  /// A shorter `detail`, for a line that several findings share.
  package var brief: String?
  /// Whether the store would work once unlocked.
  package var isLocked = false

  package init(
    _ subject: Subject, _ result: Result, _ detail: String, brief: String? = nil,
    hint: String? = nil, profile: String? = nil
  ) {
    self.subject = subject
    self.result = result
    self.detail = detail
    self.brief = brief
    self.hint = hint
    self.profile = profile
  }

  /// A failed check, in the words of `failure`; a hint to run doctor is left out.
  package init(_ subject: Subject, _ failure: Failure, profile: String? = nil) {
    let hint = failure.suggestion == .doctor() ? nil : failure.hint
    self.init(subject, .fail, failure.message, hint: hint, profile: profile)
  }
}
