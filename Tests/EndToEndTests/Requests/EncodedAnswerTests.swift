import Testing

/// An answer that comes compressed although nobody asked: it is decoded (design 8, rule T10).
@Suite struct EncodedAnswerTests {
  private static let body = #"{"a":[1,2]}"#
  private static let gzip: [UInt8] = [
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 74, 84, 178, 138, 54, 212, 49, 138, 173, 5, 0, 132,
    219, 214, 23, 11, 0, 0, 0,
  ]
  private static let deflate: [UInt8] = [
    120, 156, 171, 86, 74, 84, 178, 138, 54, 212, 49, 138, 173, 5, 0, 18, 75, 3, 31,
  ]

  private static func answer(
    _ body: [UInt8], _ encoding: String, type: String = "application/json"
  ) -> Recorder.Answer {
    let head =
      "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nContent-Encoding: \(encoding)\r\n"
      + "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
    return .bytes(Array(head.utf8) + body)
  }

  private static let routes = Scene.routes([
    "GET /gzip": answer(gzip, "gzip"), "POST /gzip": answer(gzip, "GZIP"),
    "GET /x-gzip": answer(gzip, "x-gzip"), "GET /deflate": answer(deflate, "deflate"),
    "GET /plain": answer(Array(body.utf8), "identity"),
    "GET /utf-8": answer(Array(body.utf8), "utf-8"),
    "POST /utf-8": answer(Array(body.utf8), "utf-8"),
    "GET /wrong": answer(Array(body.utf8), "gzip"),
    "GET /archive.tgz": answer(gzip, "gzip", type: "application/gzip"),
  ])

  private func withAPI(_ test: @Sendable (Sandbox, Recorder) async throws -> Void) async throws {
    try await Sandbox.with(.none) { box in
      try await test(box, try box.recorder(answering: Self.routes))
    }
  }

  @Test func decodedWithoutBeingAskedFor() async throws {
    try await withAPI { box, api in
      for (method, path) in [
        ("get", "/gzip"), ("post", "/gzip"), ("get", "/x-gzip"), ("get", "/deflate"),
        ("get", "/plain"), ("get", "/utf-8"), ("post", "/utf-8"),
      ] {
        let run = try await box.run(method, "--anonymous", api.url + path)
        #expect(run.status == 0 && run.stdout == Self.body && run.stderr == "", "\(path)")
        #expect(!(api.texts.last ?? "").lowercased().contains("accept-encoding"))
      }
      let pointer = try await box.run("get", "--anonymous", api.url + "/gzip", "--pointer", "/a/1")
      #expect(pointer.stdout == "2\n")
      let batch = try await box.run(
        ["batch", "--anonymous"], stdin: #"{"url":"\#(api.url)/gzip"}"# + "\n",
        env: ["AUTHCTL_URL": api.url])
      #expect(batch.stdout.contains(#""json":{"a":[1,2]}}"#), "\(batch.stdout)")
      let file = try await box.run("get", "--anonymous", api.url + "/gzip", "-o", "f")
      #expect(file.status == 0 && box.read("home/f") == Self.body)
      // On a terminal it is text, no binary body.
      let shown = try await box.terminal(["get", "--anonymous", api.url + "/gzip"])
      #expect(shown.screen == "{\n  \"a\": [\n    1,\n    2\n  ]\n}\n")
    }
  }

  /// The bytes of the wire: for --raw, a range, an encoding that was asked for by hand, an archive.
  @Test func leftAsItIs() async throws {
    try await withAPI { box, api in
      for words in [
        ["/gzip", "--raw"], ["/gzip", "--raw", "--compressed"],
        ["/gzip", "-H", "Range: bytes=0-9"],
        ["/gzip", "-H", "accept-encoding: gzip"], ["/archive.tgz"],
      ] {
        let run = try await box.run(
          ["get", "--anonymous", api.url + words[0]] + words.dropFirst())
        #expect(run.status == 0 && run.stdoutBytes == Self.gzip, "\(words)")
      }
      let asked = try await box.run("get", "--anonymous", api.url + "/gzip", "--compressed")
      #expect(asked.stdout == Self.body)
      #expect((api.texts.last ?? "").contains("\r\nAccept-Encoding: "))
    }
  }

  @Test func aBodyThatIsNotWhatItsHeadSays() async throws {
    try await withAPI { box, api in
      let run = try await box.run("get", "--anonymous", api.url + "/wrong")
      #expect(run.status == 7 && run.stdout == "")
      #expect(
        run.stderr
          == "authctl: the answer from \(api.url) does not match its Content-Encoding\n"
          + "hint: use --raw to get it without decoding\n")
      let raw = try await box.run("get", "--anonymous", api.url + "/wrong", "--raw")
      #expect(raw.status == 0 && raw.stdout == Self.body)
    }
  }

  /// 64 MiB of zeros in 64 KiB: the bounds count what comes out.
  @Test func bombsMeetTheBounds() async throws {
    try await Sandbox.with(.none) { box in
      let packed = try await box.run(
        "-c", "head -c 80000000 /dev/zero | gzip -9", program: "/bin/sh", limit: 120)
      let bomb = packed.stdoutBytes
      #expect(bomb.count < 100_000)
      let api = try box.recorder { _, _ in Self.answer(bomb, "gzip") }
      let pointer = try await box.run("get", "--anonymous", api.url + "/", "--pointer", "/a")
      #expect(pointer.status == 1)
      #expect(pointer.stderr.hasPrefix("authctl: --pointer: the answer is larger than 64 MiB\n"))
      let batch = try await box.run(
        ["batch", "--anonymous"], stdin: #"{"url":"\#(api.url)/"}"# + "\n",
        env: ["AUTHCTL_URL": api.url])
      #expect(batch.status == 1 && batch.stdout.contains("longer than 16 MiB"))
    }
  }

  // MARK: What a terminal is told

  @Test func savedFilesAreNamedOnATerminal() async throws {
    try await withAPI { box, api in
      let url = api.url + "/plain"
      for (words, name) in [
        (["-o", "f"], "f"), (["-O"], "plain"), (["-o", "g", "--pointer", "/a"], "g"),
      ] {
        let shown = try await box.terminal(["get", "--anonymous", url] + words)
        let size = name == "g" ? 6 : 11
        #expect(shown.status == 0 && shown.screen == "Saved \(name) (\(size) B).\n", "\(words)")
      }
      for words in [["-o", "f", "-q"], ["-o", "f", "-s"], ["-o", "/dev/null"], ["-o", "-"]] {
        let shown = try await box.terminal(["get", "--anonymous", url] + words)
        #expect(!shown.screen.contains("Saved"), "\(words)")
      }
      let piped = try await box.run("get", "--anonymous", url, "-o", "f")
      #expect(piped.status == 0 && piped.stderr == "" && piped.stdout == "")
    }
  }

  /// The server reads the body only after the line is there: nothing is timed.
  @Test func uploadsHaveALineToo() async throws {
    try await Sandbox.with(.none) { box in
      let latch = try Latch()
      let api = try box.recorder { _, _ in
        latch.wait()
        return .http(200, "{}")
      }
      let terminal = try box.openTerminal(
        ["post", "--anonymous", api.url + "/", "-d", "a=1"])
      try await terminal.waitFor("waiting for the answer")
      latch.open()
      let shown = try await terminal.finish()
      #expect(shown.status == 0 && shown.screen.hasSuffix("{}\n"), "\(shown.screen)")
    }
  }
}
