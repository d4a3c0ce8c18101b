import Glibc
import Testing

/// The body options, compared with the real curl: both send the same (design 8).
@Suite struct BodyOptionTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  /// The parts of a request that must be equal.
  private struct Sent: Equatable {
    var line: String
    /// Type, length and encoding of the body, sorted.
    var head: [String]
    var body: String

    init(_ bytes: [UInt8]) {
      let end = find(Array("\r\n\r\n".utf8), in: bytes) ?? bytes.count
      var lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        .map(String.init)
      line = lines.isEmpty ? "" : lines.removeFirst()
      var body = String(decoding: bytes.dropFirst(end + 4), as: UTF8.self)
      let names = ["content-type", "content-length", "transfer-encoding", "expect"]
      head = lines.filter { line in
        names.contains { line.lowercased().hasPrefix($0 + ":") }
      }.sorted()
      // The boundary is random; its length is constant.
      if let type = head.first(where: { $0.contains("boundary=") }),
        let boundary = type.split(separator: "=").last
      {
        head = head.map { $0.replacing(boundary, with: "BOUNDARY") }
        body = body.replacing(boundary, with: "BOUNDARY")
      }
      self.body = body
    }
  }

  private func with(_ body: (Sandbox, Recorder) async throws -> Void) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Recorder.ok)
      try box.profile("shop", "url = \"\(api.url)\"\n")
      box.canary.watch("a-token-of-ours")
      try box.write("home/lines", "one=1\r\n&two=2\n")
      try box.write("home/pic.png", "not really a picture\n")
      try box.write("home/näme x.txt", "text")
      try await body(box, api)
    }
  }

  /// Each row is passed to both unchanged; standard input is `1\n2\n`.
  private static let rows: [[String]] = [
    ["-d", "a=1", "-d", "b=2 3"], ["-d", "a", "--data-raw", "@b", "-d", "c"],
    ["--data-urlencode", "n=a b", "-d", "x", "--data-urlencode", "é"],
    ["--data-raw", "z", "-d", "@lines", "--data-binary", "@lines", "-d", "a"],
    ["-d", "@-", "-d", "x=1"], ["--data-binary", "@-"], ["--data-urlencode", "n@-"], ["-d", ""],
    ["--json", #"{"a":"#, "--json", "[1]}"], ["--json", "[true]", "--json", " "],
    ["-F", "a=b", "-F", "c=@lines", "-F", "d=<lines"],
    ["-F", "pic=@pic.png", "--form-string", "t=@x;type=y"],
    ["-F", "e=@lines;type=text/x;filename=q uo.txt", "-F", "f=x;type=text/y;charset=z"],
    ["-F", #"e=@lines;filename="a;\"b.txt";type=text/x"#, "-F", #"g="a;b""#],
    ["-F", "in=@-"], ["-F", "in=<-"], ["-F", "a="], ["-F", "n=@näme x.txt"],
    ["-F", "a=b", "-H", "Content-Type: multipart/form-data"],
    ["-d", "x", "-H", "Content-Type: text/plain"], ["-X", "PUT", "-d", "x"],
    ["-X", "DELETE", "--json", #"{"id":7}"#], ["-X", "PATCH", "-F", "a=b"],
    ["-G", "-d", "a=1", "--data-urlencode", "b=c d", "-d", "@lines"],
    ["--url-query", "n=a &", "--url-query", "+r=%20x", "--url-query", "=e", "--url-query", "just"],
  ]

  @Test func theSameAsCurl() async throws {
    try await with { box, api in
      let version = try await box.run("--version", program: "/usr/bin/curl").stdout
      // --json is new in curl 7.82, --url-query in 7.87.
      try #require(version.hasPrefix("curl 7.8") || version.hasPrefix("curl 8."), "\(version)")
      for row in Self.rows {
        let curl = try await box.run(
          ["-s", "-S", api.url + "/x"] + row, stdin: "1\n2\n", program: "/usr/bin/curl")
        #expect(curl.status == 0, "\(row): \(curl.stderr)")
        let expected = Sent(try #require(api.connections.last))
        let method = String(expected.line.prefix { $0 != " " })
        let start = row.firstIndex(of: "-X").map { $0 + 2 } ?? 0
        let run = try await box.run(
          ["request", method, "/x"] + row[start...], stdin: "1\n2\n", env: Self.env)
        #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(row): \(run.stderr)")
        #expect(Sent(try #require(api.connections.last)) == expected, "\(row)")
      }
    }
  }

  /// `-T` works as in curl, except that a short body is sent without waiting for 100 Continue.
  @Test func uploads() async throws {
    try await with { box, api in
      let rows: [(words: [String], line: String, head: [String], body: String)] = [
        (["put", "/x", "-T", "lines"], "PUT /x", ["Content-Length: 14"], "one=1\r\n&two=2\n"),
        (["put", "/x/", "-Tlines"], "PUT /x/lines", ["Content-Length: 14"], "one=1\r\n&two=2\n"),
        (
          ["put", "/x/?a=/", "--upload-file", box.home + "/näme x.txt"],
          "PUT /x/n%C3%A4me%20x.txt?a=/", ["Content-Length: 4"], "text"
        ),
        (
          ["post", "/x/", "-T", "-", "-H", "Expect:"], "POST /x/", ["Transfer-Encoding: chunked"],
          "4\r\n1\n2\n\r\n0\r\n\r\n"
        ),
        (
          ["put", "/x", "-T", "lines", "-H", "Content-Type: text/x"], "PUT /x",
          ["Content-Length: 14", "Content-Type: text/x"], "one=1\r\n&two=2\n"
        ),
        (
          ["put", "/x", "--input", "-"], "PUT /x",
          ["Content-Length: 4", "Content-Type: application/json"], "1\n2\n"
        ),
      ]
      for row in rows {
        let run = try await box.run(row.words, stdin: "1\n2\n", env: Self.env)
        #expect(run.status == 0 && run.stderr == "", "\(row.words): \(run.stderr)")
        let sent = Sent(try #require(api.connections.last))
        #expect(sent.line == row.line + " HTTP/1.1", "\(row.words)")
        #expect(sent.head == row.head && sent.body == row.body, "\(sent)")
      }
    }
  }

  /// The rules of `gh api` for fields.
  @Test func fields() async throws {
    try await with { box, api in
      let type = ["Content-Type: application/json"]
      let rows: [(words: [String], body: String)] = [
        (
          ["--field", "a=1", "--raw-field", "b=1", "--field", "c=true", "--field", "d=null"],
          #"{"a":1,"b":"1","c":true,"d":null}"#
        ),
        (
          ["--field", "a=-7", "--field", "b=1.5", "--field", "c=true ", "--field", "d="],
          #"{"a":-7,"b":"1.5","c":"true ","d":""}"#
        ),
        (
          ["--field", "a=false", "--raw-field", "b=false", "--raw-field", "c=@lines"],
          #"{"a":false,"b":"false","c":"@lines"}"#
        ),
        (["--field", "a=@lines"], #"{"a":"one=1\r\n&two=2\n"}"#),
        (["--field", "a=@-"], #"{"a":"1\n2\n"}"#),
        (
          ["--field", "o[p][q]=1", "--raw-field", "o[r]=s", "--field", "t=u=v"],
          #"{"o":{"p":{"q":1},"r":"s"},"t":"u=v"}"#
        ),
        (["--field", "a[]=1", "--raw-field", "a[]=x", "--field", "e[]"], #"{"a":[1,"x"],"e":[]}"#),
        (
          [
            "--raw-field", "l[][name]=bug", "--field", "l[][n]=1", "--raw-field", "l[][c][]=red",
            "--raw-field", "l[][c][]=blue", "--raw-field", "l[][name]=feature",
            "--raw-field", "l[][c][]=green", "--field", "m[][x][y]=2",
          ],
          #"{"l":[{"name":"bug","n":1,"c":["red","blue"]},"#
            + #"{"name":"feature","c":["green"]}],"m":[{"x":{"y":2}}]}"#
        ),
      ]
      for row in rows {
        let run = try await box.run(["post", "/x"] + row.words, stdin: "1\n2\n", env: Self.env)
        #expect(run.status == 0 && run.stderr == "", "\(row.words): \(run.stderr)")
        let sent = Sent(try #require(api.connections.last))
        #expect(sent.body == row.body, "\(sent)")
        #expect(sent.head == ["Content-Length: \(row.body.utf8.count)"] + type, "\(sent)")
      }
      let queries: [([String], String, String)] = [
        (["get", "/x", "--field", "a=1", "--raw-field", "b=c &"], "GET /x?a=1&b=c+%26", ""),
        (
          ["get", "/x?z=0", "--field", "a[]=1", "--field", "a[]=x", "--field", "n=null"],
          "GET /x?z=0&a%5B%5D=1&a%5B%5D=x&n=", ""
        ),
        (["delete", "/x", "-G", "--field", "o[p]=true"], "DELETE /x?o%5Bp%5D=true", ""),
        (["post", "/x", "--field", "q=1", "--input", "lines"], "POST /x?q=1", "one=1\r\n&two=2\n"),
      ]
      for (words, line, body) in queries {
        let run = try await box.run(words, env: Self.env)
        #expect(run.status == 0 && run.stderr == "", "\(words): \(run.stderr)")
        let sent = Sent(try #require(api.connections.last))
        #expect(sent.line == line + " HTTP/1.1" && sent.body == body, "\(sent)")
      }
    }
  }

  /// Refused before anything is sent: exit code and the whole of stderr.
  @Test func whatIsNotSent() async throws {
    try await with { box, api in
      let noFile = "no such file or directory\n"
      let rows: [(words: [String], status: Int32, says: String)] = [
        (["post", "/x", "-T", "none"], 1, "-T: cannot read none: \(noFile)"),
        (["post", "/x", "--input", "none"], 1, "--input: cannot read none: \(noFile)"),
        (["post", "/x", "-F", "a=@none"], 1, "-F: cannot read none: \(noFile)"),
        (["post", "/x", "--json", "@none"], 1, "--json: cannot read none: \(noFile)"),
        (["post", "/x", "--field", "a=@none"], 1, "--field: cannot read none: \(noFile)"),
        (["post", "/x", "-d", "@."], 1, "-d: cannot read .: is a directory\n"),
        (["post", "/x", "-T", "lines", "-d", "x"], 2, "--data and -T cannot be used together\n"),
        (["post", "/x", "-F", "a=b", "--json", "1"], 2, "--json and -F cannot be used together\n"),
        (
          ["post", "/x", "--field", "a=b", "-F", "a=b"], 2,
          "--field and -F cannot be used together\n"
        ),
        (["put", "/x", "-T", "lines", "-G"], 2, "-G and -T cannot be used together\n"),
        (
          ["get", "/x", "-T", "lines"], 2,
          "a GET request cannot have a body\nhint: to send a body, run: authctl post /PATH\n"
        ),
        (
          ["head", "/x", "-F", "a=b"], 2,
          "a HEAD request cannot have a body\nhint: to send a body, run: authctl post /PATH\n"
        ),
        (
          ["post", "/x", "-d", "@-", "--data-binary", "@-"], 2,
          "--data-binary: standard input can be read only once\n"
        ),
        (
          ["post", "/x", "-F", "a=b;c"], 2,
          """
          -F a: invalid text after ;
          hint: write ;type=TYPE or ;filename=NAME, or use --form-string to send the value unchanged

          """
        ),
        (["post", "/x", "-F", "=b"], 2, "-F =b: write NAME=VALUE\n"),
        (["post", "/x", "--field", "a"], 2, "--field a: =VALUE is missing\n"),
        (
          ["post", "/x", "--field", "a[b=1"], 2,
          "--field a[b: write NAME=VALUE, NAME[KEY]=VALUE or NAME[]=VALUE\n"
        ),
        (
          ["post", "/x", "--field", "o[f]=A", "--field", "o[f][]=B"], 2,
          "--field o[f][]: f is already set and is not an array\n"
        ),
        (
          ["post", "/x", "--field", "o[f]=A", "--field", "o[f][g]=B"], 2,
          "--field o[f][g]: f is already set and is not an object\n"
        ),
        (
          ["post", "/x", "--field", "o[f][g]=A", "--field", "o[f]=B"], 2,
          "--field o[f]: the field is given twice\n"
        ),
      ]
      for row in rows {
        let run = try await box.run(row.words, env: Self.env)
        #expect(run.status == row.status && run.stdout == "", "\(row.words)")
        #expect(run.stderr == "authctl: " + row.says, "\(row.words)")
      }
      #expect(api.connections.isEmpty)
    }
  }

  /// rails-selfie needs a multipart upload and a JSON body with DELETE.
  @Test func picturesOfRailsSelfie() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let it = BackEnd.named("rails-selfie")
      try await it.add(to: box, api)
      try await it.signedIn(box)
      try box.write("home/me.png", "pixels")
      let upload = try await box.run(
        "post", "/api/upload_photo", "-F", "title=Me; myself", "-F", "image=@me.png")
      #expect(upload.status == 2 && upload.stderr.hasPrefix("authctl: -F title: "))
      let run = try await box.run(
        "post", "/api/upload_photo", "--form-string", "title=Me; myself", "-F", "image=@me.png")
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      let photo = try JSON(parsing: run.stdout)
      #expect(photo["title"] == "Me; myself" && photo["bytes"] == 6, "\(run.stdout)")
      let id = try #require(photo["random_id"]?.string)
      let gone = try await box.run(
        "delete", "/api/delete_photo", "--json", #"{"photo_id":"\#(id)"}"#)
      #expect(gone.status == 0 && gone.stdout.contains("Image deleted"), "\(gone.stdout)")
      #expect(try await box.run("get", "/api/get_photos").stdout == "[]")
    }
  }
}
