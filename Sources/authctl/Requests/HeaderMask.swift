internal import AuthKit

/// The mask for the head of an answer in `-i`, `-D`, `-w` and `batch` (rule B3): `***` replaces
/// headers in which the profile expects a secret, and known secrets that a server repeats.
/// `--show-secrets` turns it off.
struct HeaderMask {
  private let names: Set<String>
  private let parameters: Set<String>
  /// nil where nothing is masked.
  private let redactor: Redactor?

  init(_ profile: Profile, _ redactor: Redactor, showsSecrets: Bool) {
    names = profile.maskedHeaders
    parameters = Set(profile.recipe.request.carryingParameters)
    self.redactor = showsSecrets ? nil : redactor
  }

  /// Returns the value to show for the header `name`, in any case of letters.
  func shown(_ value: String, of name: String) -> String {
    guard let redactor else { return value }
    if names.contains(name.asciiLowercased) { return "***" }
    return Redactor.holdsURL(header: name) ? shown(url: value) : redactor.mask(value)
  }

  /// Masks a URL of the answer.
  func shown(url: String) -> String {
    redactor?.mask(Redactor.masked(url, parameters: parameters)) ?? url
  }

  /// Masks another text of the answer, or its URL.
  func shown(_ text: String) -> String { redactor?.mask(text) ?? text }
}
