import Testing

/// HTTPie's words after a target are no arguments here, and their values are not repeated.
@Suite struct ItemWordsTests {
  @Test func wordsOfHTTPie() async throws {
    try await Sandbox.with(.none) { box in
      let secret = box.canary.make("value")
      let calls: [([String], String, String)] = [
        (["get", "/x", "q=\(secret)"], "argument after the target: 'q=...'", "--field q=VALUE"),
        (
          ["post", "/x", "Authorization:Bearer \(secret)"],
          "argument after the target: 'Authorization:...'", "-H 'Authorization: VALUE'"
        ),
        (
          ["request", "PUT", "/x", "n:=\(secret)", "X-Key:\(secret)", "a[b]=\(secret)"],
          "arguments after the target: 'n:=...', 'X-Key:...', 'a[b]=...'",
          "--field n=VALUE -H 'X-Key: VALUE' --field 'a[b]=VALUE'"
        ),
        (["get", "/x", "q==\(secret)"], "argument after the target: 'q==...'", "-G -d q=VALUE"),
        (["post", "/x", "f@\(secret)"], "argument after the target: 'f@...'", "-F f=@FILE"),
        (
          ["get", "/x", "more", "X-Key:\(secret)"], "argument after the target: 'X-Key:...'",
          "-H 'X-Key: VALUE'"
        ),
      ]
      for (words, what, hint) in calls {
        // The command line itself holds it: that is the mistake.
        let run = try await box.run(words)
        #expect(run.status == 2 && run.stdout == "")
        #expect(run.stderr == "authctl: unexpected \(what)\nhint: use \(hint)\n")
      }
      box.canary.forget(secret)
      for words in [["get", "/x", "/y"], ["get", "/x", "http://h/"], ["get", "/x", "-"]] {
        let run = try await box.run(words)
        #expect(run.status == 2 && !run.stderr.contains("hint: use "), "\(run.stderr)")
      }
      let other = try await box.run("token", "shop", "a=b")
      #expect(other.status == 2 && other.stderr.contains("'a=b'"))
    }
  }
}
