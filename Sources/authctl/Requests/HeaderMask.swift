internal import AuthKit

/// The mask for the head of an answer in `-i`, `-D`, `-w` and `batch` (rule B3): `***` replaces
/// headers in which the profile expects a secret, and known secrets that a server repeats.
/// `--show-secrets` turns it off.
struct HeaderMask {
  private let names: Set<String>
  /// nil where nothing is masked.
  private let redactor: Redactor?

  init(_ profile: Profile, _ redactor: Redactor, showsSecrets: Bool) {
    names = profile.maskedHeaders
    self.redactor = showsSecrets ? nil : redactor
  }

  /// Returns the value to show for the header `name`, in any case of letters.
  func shown(_ value: String, of name: String) -> String {
    guard let redactor else { return value }
    return names.contains(name.asciiLowercased) ? "***" : redactor.mask(value)
  }

  /// Masks another text of the answer, or its URL.
  func shown(_ text: String) -> String { redactor?.mask(text) ?? text }
}
