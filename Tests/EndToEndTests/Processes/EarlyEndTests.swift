import Testing

/// A command that ends while its threads load libraries and ask the keyring (`Preload`): exit(3)
/// in place of _exit(2) would crash in half of these runs.
@Suite struct EarlyEndTests {
  @Test(arguments: [nil, "file"])
  func aMistakeEndsACommandWhileItsThreadsStart(store: String?) async throws {
    try await Shop.with(signsIn: false) { shop, _ in
      let key = try shop.box.write("key", String(repeating: "4b", count: 32) + "\n")
      let script = #"for i in $(seq 100); do "$@" 2>/dev/null; echo $?; done"#
      for words in [["get", "--nope"], ["batch", "--parallel", "x"]] {
        let run = try await shop.box.run(
          ["-c", script, "sh", try Built.authctl()] + words,
          env: ["AUTHCTL_STORE": store, "AUTHCTL_STORE_KEY_FILE": key], program: "/bin/sh",
          limit: 300)
        #expect(run.status == 0 && run.stderr == "")
        #expect(run.stdout == String(repeating: "2\n", count: 100))
      }
    }
  }
}
