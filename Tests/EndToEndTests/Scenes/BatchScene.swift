import Testing

/// Helpers shared by the tests of `batch`: lines in, lines out.
enum Batch {
  static let token = ["AUTHCTL_TOKEN": "t0ken-of-the-variable"]

  static func lines(_ lines: [String]) -> String { lines.map { $0 + "\n" }.joined() }

  /// The line that batch prints for a `Recorder`'s response; `body` is the member with the body.
  static func answer(
    _ id: String, _ length: Int, status: Int = 200, type: String = "application/json",
    headers: String = "", body: String = ""
  ) -> String {
    #"{"id":\#(id),"status":\#(status),"headers":{"content-type":"\#(type)",\#(headers)"#
      + #""content-length":"\#(length)","connection":"close"}\#(body)}"#
  }

  /// The line that batch prints for an error.
  static func error(
    _ id: String, _ code: String, _ exit: Int, _ message: String, hint: String? = nil,
    profile: String? = "shop"
  ) -> String {
    func text(_ text: String?) -> String { text.map { "\"\($0)\"" } ?? "null" }
    return #"{"id":\#(id),"error":{"code":"\#(code)","exit":\#(exit),"message":\#(text(message)),"#
      + #""server":null,"status":null,"url":null,"profile":\#(text(profile)),"account":null,"#
      + #""hint":\#(text(hint))}}"#
  }
}

extension Run {
  /// Each line of stdout as JSON.
  func answers() throws -> [JSON] {
    try stdout.split(separator: "\n").map { try JSON(parsing: String($0)) }
  }
}
