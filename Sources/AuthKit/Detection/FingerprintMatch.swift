extension Fingerprint {
  /// How many bytes are searched: a mark is near the beginning.
  private static let largestMark = 65_536

  /// Whether `answer` shows this mark.
  func isShown(by answer: RecipeResponse) -> Bool {
    guard statuses.contains(answer.head.status) else { return false }
    if (try? answer.holdsAny(conditions)) ?? false { return true }
    let beginning = Array(answer.body.prefix(Self.largestMark))
    return texts.contains(where: beginning.contains(bytesOf:))
  }
}
