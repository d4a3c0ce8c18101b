extension Fingerprint {
  /// How many bytes are searched: a mark is near the beginning.
  private static let largestMark = 65_536

  /// The request, as `Detection.tried` names it: `GET /api/health`.
  var request: String { "\(method) \(path)" }

  /// Whether the answer to `GET /` is reason enough to request the path.
  func isWorthAsking(after root: RecipeResponse?) -> Bool {
    guard !after.isEmpty else { return true }
    guard let root else { return false }
    let beginning = Array(root.body.prefix(Self.largestMark))
    return after.contains { word in
      beginning.contains(bytesOf: word)
        || root.head.fields.contains {
          $0.name.asciiLowercased.utf8.elementsEqual(word.asciiLowercased.utf8)
            || $0.value.contains(bytesOf: word)
        }
    }
  }

  /// Whether `answer` shows this mark.
  func isShown(by answer: RecipeResponse) -> Bool {
    guard statuses.contains(answer.head.status) else { return false }
    if (try? answer.holdsAny(conditions)) ?? false { return true }
    let beginning = Array(answer.body.prefix(Self.largestMark))
    return texts.contains(where: beginning.contains(bytesOf:))
  }
}
