/// The head of a browser's request.
package struct BrowserRequest {
  /// Whether the method is GET.
  package let isGet: Bool
  /// The Host header; nil unless there is exactly one.
  package let host: String?
  /// The target up to the question mark.
  package let path: String
  /// The target after it.
  package let query: String

  /// Reads a head; nil until it is complete. One that is no request is for no path.
  package init?(_ bytes: [UInt8]) {
    let lines = bytes.split(
      separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false
    ).map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }
    guard let end = lines.dropLast().firstIndex(where: \.isEmpty), end > 0 else { return nil }
    let words = lines[0].split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    isGet = words.count == 3 && words[0] == "GET"
    let target = (words.count == 3 ? words[1] : "").utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    path = target.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
    query = target.count > 1 ? String(decoding: target[1], as: UTF8.self) : ""
    let hosts = lines[1..<end].compactMap { line -> String? in
      let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1)
      guard parts.count == 2,
        String(decoding: parts[0], as: UTF8.self).equalsIgnoringCase("Host")
      else { return nil }
      return String(decoding: parts[1], as: UTF8.self).trimmingSpaces
    }
    host = hosts.count == 1 ? hosts[0] : nil
  }
}
