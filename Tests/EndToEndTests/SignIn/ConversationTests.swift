import Testing

/// Tests of the conversation runner: a wrong conversation fails and names the line.
@Suite struct ConversationTests {
  /// A correct conversation.
  private static let good = """
    # The preset json.
    url: /v2
    set: whoami.path=/me
    $ AUTHCTL_OTP=1 login -u 'ada' --field id={now+5}
    > POST /v2/login
    > Content-Type: application/json
    > !Authorization
    >> {"username":"ada","password":"pass-word-1","id":{now+5}}
    < 200
    < Set-Cookie: sid=cookie-of-ada; Path=/
    << {"token":"{jwt+900}","token_type":"Bearer type"}
    = 0
    err: Signed in to api as ada.
    $ whoami
    > GET /v2/me
    > Authorization: Bearer {jwt+900}
    < 200
    << {"username":"grace.hopper","secret":"hidden.words"}
    = 0
    out: grace.hopper
    $ get {origin}/v2/no?a={iso+5}
    > GET /v2/no?a={iso+5}
    < 404
    << {"token":"{jwt+900}"}
    = 4
    out: {"token":"{jwt+900}"}
    """

  struct Twist: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The text to replace, and its replacement.
    var old: String
    var new: String
    /// The start of each complaint.
    var complaints: [String]

    init(_ name: String, _ old: String, _ new: String, _ complaints: String...) {
      (testDescription, self.old, self.new) = (name, old, new)
      self.complaints = complaints
    }
  }

  static let twists = [
    Twist("good", "", ""),
    Twist(
      "wrong body", #"{"username":"ada","#, #"{"username": "ada","#,
      #"8: body\#nwanted: {"username": "ada","password":"pass-word-1","id":17"#),
    Twist(
      "body not written", ">> {", "# {", #"5: body\#nwanted: \#n   got: {"username":"ada","pass"#),
    Twist(
      "wrong header", "Bearer {jwt+900}\n", "Bearer {jwt+900b}\n",
      "16: header Authorization\nwanted: Bearer eyJ"),
    Twist(
      "header twice", "> !Auth", "> accept: a\n> accept: b\n> !Auth",
      "7: header accept\nwanted: a | b\n   got: application/json"),
    Twist(
      "forbidden header", "!Authorization", "!Accept",
      "7: header Accept\nwanted: no such header\n   got: application/json"),
    Twist(
      "wrong target", "> GET /v2/me", "> GET /v2/you",
      "14: exit status\nwanted: 0\n   got: 5\nstderr:\nauthctl: api: HTTP 500",
      "15: request\nwanted: GET /v2/you\n   got: GET /v2/me\nGET /v2/me HTTP/1.1\r\nHost: ",
      "20: stdout\nwanted: grace.hopper\\n\n   got: \nstderr:\n"),
    Twist(
      "missing request, and what follows is not run", "= 0\nout: grace.hopper",
      "> GET /v2/more\n< 200\n= 0\nout: grace.hopper\n$ nothing\n= 0",
      "19: the request GET /v2/more never came"),
    Twist(
      "extra request", "out: grace.hopper", "out: grace.hopper\n$ get /x\n= 5\n",
      "21: request\nwanted: no further one\n   got: GET /v2/x\n",
      "21: stdout\nwanted: \n   got: {\"message\":\"the conversation has"),
    Twist(
      "leaked token", "hidden.words", "grace.hopper", "14: secret found: grace.hopper in stdout of "
    ),
    Twist(
      "status", "= 0\nerr", "= 1\nerr", "4: exit status\nwanted: 1\n   got: 0\nstderr:\nSigned in"),
    Twist(
      "stdout", "out: grace.hopper", "out: grace",
      "20: stdout\nwanted: grace\\n\n   got: grace.hopper\\n"),
    Twist(
      "stderr", "as ada.", "as bob.", "13: stderr holds\nwanted: Signed in to api as bob.\n   got: "
    ),
    Twist("profile", "whoami.path", "who.path", "1: profile add ended with 2\nstderr:\nauthctl: "),
  ]

  @Test(arguments: twists) func complaints(_ twist: Twist) async throws {
    let text = Self.good.replacing(twist.old, with: twist.new, maxReplacements: 1)
    let found = try await ConversationRun.complaints(text, preset: "json").map(\.description)
    let asWanted = zip(found, twist.complaints).allSatisfy { $0.hasPrefix($1) }
    #expect(found.count == twist.complaints.count && asWanted, "\(found)")
  }

  @Test(arguments: [
    ("", "1: there is no command"), ("# x\n\nout:x", "3: a line begins with "),
    ("$ whoami\r\n= 0", "1: a carriage return"), ("out: x", "1: there is no $ before it"),
    ("$ whoami", "1: the command has no exit status"), ("$ A=1\n= 0", "1: $ names no command"),
    ("$ get '/x\n= 0", "1: a quote is not closed"), ("$ a\n= x", "2: = is followed by"),
    ("$ a\n= 0\n= 0", "3: a second exit status"), ("$ a\n= 0\nset: a=b", "3: set: stands before"),
    ("url: x\n", "1: url: is one /path"), ("$ a\n> get /x", "2: a request begins with "),
    ("$ a\n> GET /x\n= 0", "2: the request has no answer"), ("$ a\n< 200", "2: there is no open"),
    ("$ a\n> GET /x\n> A\n", "3: a header is NAME: VALUE"), ("$ a\n<< {}", "2: there is no answer"),
    ("$ a\n= 0\n> GET /x", "3: a request stands before ="), ("$ a {jwt900}", "1: {jwt900} is not"),
    ("$ a\n> GET /x\n< OK", "3: an answer begins with < STATUS"),
  ])
  func malformed(_ text: String, _ complaint: String) {
    let error = #expect(throws: Conversation.Complaint.self) {
      try Conversation(parsing: text, origin: "http://127.0.0.1:1")
    }
    #expect(error?.description.hasPrefix(complaint) == true, "\(String(describing: error))")
  }

  @Test func placeholdersOfRequests() {
    let request = HTTPRequest(
      Array("POST /a HTTP/1.1\r\nContent-Type: x/y; boundary=-b-\r\n\r\n---b-\r\nn".utf8))
    #expect(request.matches("--{boundary}\r\nn", request.body))
    #expect(request.matches("a{unique}b", "a0123456789abcdefb"))
    for other in ["a0123456789abcdeb", "a0123456789abcdeFb", "a0123456789abcdef", "a{unique}b"] {
      #expect(!request.matches("a{unique}b", other))
    }
  }
}
