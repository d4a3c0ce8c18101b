/// One finding of `doctor` or `store test`: what was looked at, and what was seen.
package struct Check: Sendable {
  /// How it was found; the raw value is that of JSON (design 2).
  package enum Result: String, Sendable {
    case ok, warn, fail, skipped
  }

  /// What is looked at; the raw value is its name in text and JSON.
  package enum Subject: String, Sendable {
    // The machine.
    case versions, libcurl, config, state, proxy, variables
    // The store.
    case store, bus, daemon, collection, folder, key, sessions, probe
    // A profile and its server; `session` is the encryption of the bus as well.
    case profile, reach, answer, certificate, clock, session

    /// Whether the finding says where the store keeps its items.
    package var isPlaceOfStore: Bool { self == .daemon || self == .folder }
  }

  /// What was looked at.
  package var subject: Subject
  /// The profile that it is about; none: the machine.
  package var profile: String?
  /// How it was found.
  package var result: Result
  /// What was seen; no secret.
  package var detail: String
  /// How to fix it: a command or a fact.
  package var hint: String?
  /// The same in few words, for a line that several findings share.
  package var brief: String?
  /// The store would serve, if somebody unlocked it.
  package var isLocked = false

  /// A finding of these.
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

  /// What did not work, in the words of its failure. The hint to ask the doctor is left out here.
  package init(_ subject: Subject, _ failure: Failure, profile: String? = nil) {
    let hint = failure.suggestion == .doctor() ? nil : failure.hint
    self.init(subject, .fail, failure.message, hint: hint, profile: profile)
  }
}
