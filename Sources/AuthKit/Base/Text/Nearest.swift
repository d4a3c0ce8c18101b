/// Returns the candidate that `word` was most likely meant to be, if any is near enough.
///
/// Distance by optimal string alignment (Damerau-Levenshtein with adjacent swaps) on ASCII
/// lower-cased bytes; at most a third of the longer word may differ, and at least one byte may.
package func nearest(_ word: String, in candidates: [String]) -> String? {
  let asked = lowered(word)
  // Nobody mistypes so long a word; the table below is quadratic.
  guard !asked.isEmpty, asked.count <= 128 else { return nil }
  var best: (word: String, distance: Int)?
  for candidate in candidates {
    let other = lowered(candidate)
    let limit = max(1, max(asked.count, other.count) / 3)
    guard other.count <= 128, abs(asked.count - other.count) <= limit else { continue }
    let distance = editDistance(asked, other)
    if distance <= limit, distance < (best?.distance ?? .max) { best = (candidate, distance) }
  }
  return best?.word
}

private func lowered(_ text: String) -> [UInt8] {
  text.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
}

private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
  var beforeLast: [Int] = []
  var last = Array(0...b.count)
  for i in 0..<a.count {
    var row = [i + 1]
    for j in 0..<b.count {
      var cost = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] {
        cost = min(cost, beforeLast[j - 1] + 1)
      }
      row.append(cost)
    }
    beforeLast = last
    last = row
  }
  return last[b.count]
}
