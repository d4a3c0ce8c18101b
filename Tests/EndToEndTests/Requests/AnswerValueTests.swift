import Glibc
import Testing

/// Values from a response: `--pointer` and `-w` (design 8).
@Suite struct AnswerValueTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]
  private static let json =
    #"{"data":[{"id":"one\ntwo","n":1.50,"o":{"b":[1, 2],"a":null}}],"a/b":{"m~n":true},"#
    + #""twice":1,"twice":2,"":"empty","esc":"\u001b[2J"}"#

  private func with(
    _ answer: @escaping Recorder.Answering, _ body: (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: answer)
      try box.profile("shop", "url = \"\(api.url)\"\n")
      try await body(box, api)
    }
  }

  @Test func pointers() async throws {
    try await with({ _, _ in .http(200, Self.json) }) { box, _ in
      let calls: [([String], String)] = [
        (["/data/0/id"], "one\ntwo\n"), (["/data/0/n"], "1.50\n"),
        (["/data/0/o"], #"{"b":[1,2],"a":null}"# + "\n"), (["/data/0/o/a"], "null\n"),
        (["/a~1b/m~0n"], "true\n"), (["/"], "empty\n"),
        (["/data/0/n", "/a~1b/m~0n", "/"], "1.50\ntrue\nempty\n"),
      ]
      for (pointers, text) in calls {
        let words = pointers.flatMap { ["--pointer", $0] }
        let run = try await box.run(["get", "/x"] + words, env: Self.env)
        #expect(run.status == 0 && run.stdout == text && run.stderr == "", "\(pointers)")
        let file = box.home + "/value"
        let saved = try await box.run(["get", "/x", "-o", file] + words, env: Self.env)
        #expect(saved.status == 0 && saved.stdout == "" && box.read("home/value") == text)
      }
    }
  }

  @Test func pointersThatFindNothing() async throws {
    try await with({ _, request in
      switch Scene.route(of: request) {
      case "GET /json": .http(200, Self.json)
      case "GET /empty": .http(204, "")
      case "GET /html": .http(200, "<p>", type: "text/html")
      default: .http(404, #"{"message":"no"}"#)
      }
    }) { box, api in
      let shape = "hint: the answer is object: "
      let calls: [(String, [String], Int32, String, String)] = [
        ("/json", ["/nope"], 1, "", "authctl: --pointer: nothing at /nope\n" + shape),
        (
          "/json", ["/data/0/n", "/data/1", "/", "/data/-"], 1, "1.50\nempty\n",
          "authctl: --pointer: nothing at /data/1, nothing at /data/-\n" + shape
        ),
        (
          "/json", ["/twice"], 1, "",
          "authctl: --pointer: two values at /twice: a key appears twice\n" + shape
        ),
        ("/empty", ["/a"], 1, "", "authctl: --pointer: the answer is empty\n"),
        ("/html", ["/a"], 1, "", "authctl: --pointer: the answer is not JSON: "),
        (
          "/none", ["/message"], 4, #"{"message":"no"}"#,
          "authctl: HTTP 404 Recorded: GET \(api.url)/none (shop, AUTHCTL_TOKEN)\n"
        ),
      ]
      for (target, pointers, status, out, err) in calls {
        let words = pointers.flatMap { ["--pointer", $0] }
        let run = try await box.run(["get", target] + words, env: Self.env)
        #expect(run.status == status && run.stdout == out, "\(pointers): \(run.stdout)")
        #expect(run.stderr.hasPrefix(err), "\(run.stderr)")
      }
      let seen = api.connections.count
      let bad = try await box.run("get", "/json", "--pointer", "data/0", env: Self.env)
      #expect(bad.status == 2 && bad.stdout == "" && api.connections.count == seen)
      #expect(
        bad.stderr == """
          authctl: --pointer data/0 is not a JSON Pointer
          hint: write /data/0/id (RFC 6901)

          """)
      let accepted = try await box.run(
        "get", "/none", "--ok", "404", "--pointer", "/message", env: Self.env)
      #expect(accepted.status == 0 && accepted.stdout == "no\n" && accepted.stderr == "")
    }
  }

  @Test func valuesOnATerminal() async throws {
    try await with({ _, _ in .http(200, Self.json) }) { box, _ in
      let env = Self.env.merging(["NO_COLOR": "1"]) { $1 }
      let run = try await box.terminal(
        ["get", "/x", "--pointer", "/data/0/o", "--pointer", "/esc"], env: env)
      #expect(run.status == 0)
      #expect(
        run.screen == """
          {
            "b": [
              1,
              2
            ],
            "a": null
          }
          ^[[2J

          """)
      let raw = try await box.terminal(
        ["get", "/x", "--raw", "--pointer", "/data/0/o", "--pointer", "/esc"], env: env)
      #expect(raw.screen == "{\"b\":[1,2],\"a\":null}\n\u{1B}[2J\n")
    }
  }

  @Test func writeOut() async throws {
    try await with({ _, request in
      switch Scene.route(of: request) {
      case "GET /away": .redirect(to: "/there?y=1")
      case "POST /there": .http(201, "{}", headers: [("X-Id", "7")])
      case "GET /none": .http(404, "no", type: "text/plain")
      default: .http(200, "body", type: "text/plain")
      }
    }) { box, api in
      try box.write("home/format", "%{http_code}\\n")
      let calls: [([String], Int32, String, String)] = [
        (["get", "/x", "-w", "%{http_code}"], 0, "body200", ""),
        (["get", "/x", "-w%{response_code}=%{exitcode}"], 0, "body200=0", ""),
        (
          ["get", "/away", "-w", "\\n%{num_redirects} %{url} %{url_effective}\\t%{http_code}\\n"],
          0,
          "body\n1 \(api.url)/away \(api.url)/there?y=1\t200\n", ""
        ),
        (
          ["get", "/away", "--max-redirs", "0", "-w", "%{redirect_url}", "--ok", "302"], 0,
          api.url + "/there?y=1", ""
        ),
        (
          ["post", "/there", "-d", "abc", "-w", "|%{method} %{size_upload} %header{x-id}|"], 0,
          "{}|POST 3 7|", ""
        ),
        (
          ["get", "/x", "-w", "%{size_download} %{content_type} %{http_version} %{scheme}"], 0,
          "body4 text/plain 1.1 http", ""
        ),
        (
          ["get", "/x", "-w", "%{num_headers} %{remote_ip} %{remote_port}"], 0,
          "body3 127.0.0.1 \(api.port)", ""
        ),
        (["get", "/x", "-w", "100%% %q \\q %{open"], 0, "body100% %q \\q %{open", ""),
        (["get", "/x", "-w", "@" + box.home + "/format"], 0, "body200\n", ""),
        (["get", "/x", "-w", "%{onerror}%{exitcode}"], 0, "body", ""),
        (
          ["get", "/x", "-w", "<%{nope}>"], 0, "body<>",
          "authctl: warning: -w: unknown variable 'nope'\n"
        ),
        (["get", "/x", "-w", "%{stderr}a %{stdout}b"], 0, "bodyb", "-w: a \n"),
        (
          ["get", "/none", "-w", " %{http_code} %{exitcode}"], 4, "no 404 4",
          "authctl: HTTP 404 Recorded: GET \(api.url)/none (shop, AUTHCTL_TOKEN)\n"
        ),
      ]
      for (words, status, out, err) in calls {
        let run = try await box.run(words, env: Self.env)
        #expect(run.status == status && run.stdout == out, "\(words): \(run.stdout)")
        #expect(run.stderr == err, "\(words): \(run.stderr)")
      }
    }
  }

  /// -w also prints if there is no response: a script reads 000.
  @Test func writeOutOfAFailure() async throws {
    try await with({ _, _ in .close }) { box, api in
      let run = try await box.run(
        "get", "/x", "-w", "%{http_code} %{exitcode} %{num_headers} %{errormsg}", env: Self.env)
      let message = "\(api.url) closed the connection without an answer"
      #expect(run.status == 7 && run.stdout == "000 7 0 " + message, "\(run.stdout)")
      #expect(run.stderr == "authctl: \(message)\n")
    }
  }

  /// The names of curl's `%{json}`, except those that HTTP does not have.
  @Test func writeOutAsJSON() async throws {
    try await with({ _, _ in .http(200, "body") }) { box, api in
      let run = try await box.run(
        "get", "/x", "-o", "/dev/null", "-w", "%{json}", env: Self.env)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      let mine = try JSON(parsing: run.stdout)
      let curl = try await box.run(
        "-s", "-o", "/dev/null", "-w", "%{json}", api.url + "/x", program: "/usr/bin/curl")
      let theirs = try JSON(parsing: curl.stdout)
      let foreign = [
        "certs", "num_certs", "curl_version", "ftp_entry_path", "proxy_ssl_verify_result",
        "referer",
      ]
      guard case .object(let members) = theirs else { throw HarnessError("no object") }
      for (name, value) in members where !foreign.contains(name) {
        let own = try #require(mine[name], "\(name)")
        switch (own, value) {
        case (.number, .number), (.string, .string), (.null, .null): break
        default: #expect(own == value, "\(name)")
        }
      }
      for name in ["http_code", "size_download", "content_type", "url_effective", "num_connects"] {
        #expect(mine[name] == theirs[name], "\(name)")
      }
    }
  }
}
