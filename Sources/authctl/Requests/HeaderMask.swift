internal import AuthKit

/// What `-i`, `-D`, `-w` and `batch` show of the head of an answer (rule B3): `***` for
/// the headers in which the profile expects a secret, and for every secret that is known wherever
/// a server repeats it. `--show-secrets` lifts both.
struct HeaderMask {
  private let names: Set<String>
  /// nil where nothing is masked.
  private let redactor: Redactor?

  init(_ profile: Profile, _ redactor: Redactor, showsSecrets: Bool) {
    names = profile.maskedHeaders
    self.redactor = showsSecrets ? nil : redactor
  }

  /// The value of the header `name`, in any case.
  func shown(_ value: String, of name: String) -> String {
    guard let redactor else { return value }
    return names.contains(name.asciiLowercased) ? "***" : redactor.mask(value)
  }

  /// Another text of the answer, or of its URL.
  func shown(_ text: String) -> String { redactor?.mask(text) ?? text }
}
