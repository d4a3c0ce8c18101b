import Glibc
import Testing

/// Bodies from files and pipes: streamed, and sent again where that is possible.
@Suite struct BodyStreamTests {
  private static let tokens: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  /// Memory use does not grow with the body.
  @Test func memoryIsFlat() async throws {
    try await Sandbox.with(.none) { box in
      let pid = Mutable<pid_t>(0)
      let (peak, count) = (Mutable(0), Mutable(0))
      let sink = try Sink { bytes in
        while pid.value == 0 { usleep(1000) }
        (peak.value, count.value) = (Self.peak(of: pid.value), bytes)
      }
      defer { sink.close() }
      try box.profile("shop", "url = \"\(sink.url)\"\n")
      let length = 200 << 20
      for (name, size) in [("small", 1000), ("large", length)] {
        let file = open(box.home + "/" + name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        #expect(ftruncate(file, off_t(size)) == 0)
        close(file)
      }
      #expect(mkfifo(box.home + "/pipe", 0o600) == 0)
      func send(_ words: [String]) async throws -> (peak: Int, count: Int) {
        pid.value = 0
        let child = try box.start(words, env: Self.tokens)
        pid.value = child.pid
        let run = try await child.finish()
        #expect(run.status == 0 && run.stderr == "", "\(words): \(run.stderr)")
        return (peak.value, count.value)
      }
      let small = try await send(["put", "/x", "-T", "small"])
      #expect(small.count == 1000)
      // The allowance is for libcurl's buffers; the body is 200 MiB.
      let most = small.peak + 16_384
      for words in [["-T", "large"], ["-F", "f=@large"], ["-d", "x", "--data-binary", "@large"]] {
        let large = try await send(["post", "/x"] + words)
        #expect(large.count >= length, "\(words)")
        #expect(large.peak < most, "\(words): \(large.peak) KiB, \(small.peak) for a small one")
      }
      let writer = try box.start(
        ["-c", "head -c \(length) /dev/zero > pipe"], program: "/bin/sh")
      let piped = try await send(["put", "/x", "-T", "pipe"])
      #expect(piped.count >= length)
      #expect(piped.peak < most, "from a pipe: \(piped.peak) KiB, \(small.peak) for a small one")
      #expect(try await writer.finish().status == 0)
      unlink(box.home + "/large")
    }
  }

  /// The peak memory of a process, in KiB.
  private static func peak(of pid: pid_t) -> Int {
    let text = readFile("/proc/\(pid)/status").map { String(decoding: $0, as: UTF8.self) } ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return Int(line.filter(\.isNumber)) ?? .max
  }

  // MARK: Sent again

  /// A shop that answers the first `POST /x` with 401, so that the request is sent twice.
  private func withRefusal(_ body: (Sandbox, Recorder, Script) async throws -> Void) async throws {
    try await Sandbox.with { box in
      let script = Script()
      let asked = Mutable(0)
      let api = try box.recorder { index, request in
        guard Scene.route(of: request) == "POST /x" else { return script.answering(index, request) }
        return asked.increase() == 1 ? .http(401, "{}") : .http(200, "{}")
      }
      script["POST /login"] = Script.tokens()
      script["POST /refresh"] = Script.tokens(["access_token": "access-2", "expires_in": 900])
      let shop = try Shop(box, api.url)
      try await shop.signIn()
      try await body(box, api, script)
    }
  }

  /// The decoded bodies of `POST /x`.
  private func bodies(_ api: Recorder) -> [[UInt8]] {
    api.connections.filter { Scene.route(of: $0) == "POST /x" }.map { bytes in
      guard let end = find(Array("\r\n\r\n".utf8), in: bytes) else { return [] }
      var rest = Array(bytes[(end + 4)...])
      let head = String(decoding: bytes[..<end], as: UTF8.self).lowercased()
      guard head.contains("transfer-encoding: chunked") else { return rest }
      var body: [UInt8] = []
      while let line = find([13, 10], in: rest),
        let size = Int(String(decoding: rest[..<line], as: UTF8.self), radix: 16), size > 0
      {
        body += rest[(line + 2)..<(line + 2 + size)]
        rest.removeFirst(line + 4 + size)
      }
      return body
    }
  }

  /// Numbered lines, so that a lost or repeated piece is noticed.
  private static func text(_ lines: Int) -> String {
    (0..<lines).map { "\($0)\n" }.joined()
  }

  @Test func aBodyIsSentAgainAfterARenewal() async throws {
    let (short, long) = (Self.text(1000), Self.text(300_000))
    let rows: [(words: [String], input: String?, sent: String)] = [
      (["-T", "file"], nil, long),
      (["-d", "@file", "-d", "x"], nil, long.filter { $0 != "\n" } + "&x"),
      (["-T", "-"], long, long), (["--data-binary", "@-"], short, short),
      (["--data-binary", "@-"], long, long),
      (["-d", "a", "-d", "@-"], short, "a&" + short.filter { $0 != "\n" }),
    ]
    for row in rows {
      try await withRefusal { box, api, _ in
        try box.write("home/file", long)
        let run = try await box.run(
          ["post", "/x", "-H", "Expect:"] + row.words, stdin: row.input)
        #expect(run.status == 0 && run.stderr == "" && run.stdout == "{}", "\(run.stderr)")
        let bodies = bodies(api)
        #expect(bodies.count == 2 && bodies.last == Array(row.sent.utf8), "\(row.words)")
      }
    }
  }

  @Test func partsAreSentAgainAfterARenewal() async throws {
    try await withRefusal { box, api, _ in
      let long = Self.text(300_000)
      let run = try await box.run(
        "post", "/x", "-H", "Expect:", "-F", "a=b", "-F", "f=@-", stdin: long)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      let last = try #require(bodies(api).last)
      #expect(find(Array(long.utf8), in: last) != nil && bodies(api).count == 2)
    }
  }

  /// Without a folder for data that exceeds memory, a long pipe is read only once.
  @Test func aLongPipeCannotAlwaysBeSentAgain() async throws {
    try await withRefusal { box, api, _ in
      let run = try await box.run(
        "post", "/x", "-T", "-", "-H", "Expect:", stdin: Self.text(300_000),
        env: ["XDG_RUNTIME_DIR": nil])
      #expect(run.status == 11 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: shop: the token was refused (HTTP 401) and has been renewed, \
          but the body came from a pipe and cannot be sent again
          hint: run the command again, or send the body from a file

          """)
      #expect(bodies(api).count == 1)
      let again = try await box.run("post", "/x", "-T", "-", "-H", "Expect:", stdin: "x")
      #expect(again.status == 0 && again.stderr == "", "\(again.stderr)")
    }
  }

  /// Rule C5: the copy of a pipe's data has no file name.
  @Test(.enabled(if: access("/usr/bin/strace", X_OK) == 0, "needs the package strace"))
  func whatIsKeptHasNoName() async throws {
    try await withRefusal { box, api, _ in
      let canary = box.canary.make("body")
      let long = Self.text(300_000) + canary
      let calls = box.root + "/calls"
      let run = try await box.run(
        [
          "-f", "-o", calls, "-e", "trace=open,openat,creat,linkat,link,rename,renameat,mkdir",
          try Built.authctl(), "post", "/x", "-H", "Expect:", "--data-binary", "@-",
        ], stdin: long, program: "/usr/bin/strace")
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(bodies(api).map(\.count) == [long.utf8.count, long.utf8.count])
      let lines = try #require(box.read("calls")).split(separator: "\n")
      let spools = lines.filter { $0.contains("O_TMPFILE") && $0.contains(box.runtimeDirectory) }
      #expect(spools.count == 1 && spools[0].contains(", 0600) = "), "\(spools)")
      // Apart from the lock of the renewal, no file is created.
      let made = lines.filter { $0.contains("O_CREAT") && !$0.contains("/locks") }
      #expect(made.isEmpty, "\(made)")
      #expect(list(box.runtimeDirectory).isEmpty)
    }
  }

  @Test func redirectsAtHomeGetTheBodyAgain() async throws {
    try await Sandbox.with(.none) { box in
      let other = try box.recorder(at: "127.0.0.2", answering: Recorder.ok)
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "PUT /go": .redirect(307, to: "/there")
        case "PUT /away": .redirect(308, to: other.url + "/there")
        case "PUT /see": .redirect(303, to: "/there")
        default: .http(200, "{}")
        }
      }
      try box.profile("shop", "url = \"\(api.url)\"\n")
      let long = Self.text(300_000)
      try box.write("home/file", long)
      func put(_ path: String, _ env: [String: String?] = [:], input: String? = nil) async throws
        -> Run
      {
        let file = input == nil ? "file" : "-"
        return try await box.run(
          ["put", "-L", path, "-T", file, "-H", "Expect:"], stdin: input,
          env: env.merging(Self.tokens) { $1 })
      }
      for input in [nil, long] {
        let run = try await put("/go", input: input)
        #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(run.stderr)")
        let last = try #require(api.connections.last)
        #expect(Scene.route(of: last) == "PUT /there" && last.count > long.utf8.count)
      }
      let lost = try await put("/go", ["XDG_RUNTIME_DIR": nil], input: long)
      #expect(lost.status == 3 && lost.stdout == "")
      #expect(
        lost.stderr == """
          authctl: HTTP 307 to \(api.url)/there: the body came from a pipe and cannot be sent again
          hint: send it from a file, or to that URL

          """)
      #expect(try await put("/away").status == 13)
      #expect(other.connections.isEmpty)
      #expect(try await put("/see").status == 0)
      let last = String(decoding: try #require(api.connections.last), as: UTF8.self)
      #expect(last.hasPrefix("GET /there HTTP/1.1\r\n") && !last.contains("Content-"), "\(last)")
    }
  }
}
