import Testing

/// Arguments and names that are not UTF-8: used unchanged or refused, never repaired.
@Suite struct ForeignBytesTests {
  /// Runs authctl from a shell with `B` set to a name that is not UTF-8.
  private func run(
    _ box: Sandbox, _ script: String, _ more: String = "", env: [String: String?] = [:]
  ) async throws -> Run {
    try await box.run(
      "-c", #"B="$(printf 'a\377b')"; "# + script, "sh", try Built.authctl(), more,
      env: env, program: "/bin/sh")
  }

  @Test func wordsThatAreNotUTF8AreRefused() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.profile("shop", Scene.profile(api.url))
      let env: [String: String?] = ["AUTHCTL_TOKEN": box.canary.make("access")]
      let before = box.files()
      for (words, number) in [
        (#"get "/$B""#, 2), (#"get "$2/$B""#, 2), (#"get /x -o "$B""#, 4),
        (#"get /x "-o$B""#, 3), (#"get /x "--output=$B""#, 3), (#"put /x -T "$B""#, 4),
        (#"post /x -d "@$B""#, 4), (#"post /x -d "$B""#, 4), (#"get /x -H "X: $B""#, 4),
        (#"get /x --trace "$B""#, 4), (#"get -p "./$B" /x"#, 3), (#"-p "./$B" get /x"#, 2),
        (#"get -- "/$B""#, 3), (#"exec -p "$B" -- echo ran"#, 3), (#""$B" -- x"#, 1),
        (#"exec --token-dir "$B" --file -- echo ran"#, 3), (#"jwt decode "$B""#, 3),
        (#"login --password-file "$B""#, 3), (#"profile export shop -o "$B""#, 5),
      ] {
        let run = try await run(box, #"exec "$1" "# + words, api.url, env: env)
        #expect(run.status == 2, "\(words)")
        #expect(run.stdout == "", "\(words)")
        #expect(
          run.stderr == """
            authctl: argument \(number) is not valid UTF-8
            hint: percent-encode it in a URL; for a file name, redirect with < or >

            """, "\(words)")
      }
      #expect(api.connections.count == 0)
      #expect(box.files() == before)
    }
  }

  @Test func variablesThatAreNotUTF8AreRefused() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.profile("shop", Scene.profile(api.url))
      let env: [String: String?] = ["AUTHCTL_TOKEN": box.canary.make("access")]
      for name in [
        "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "AUTHCTL_CONFIG_DIR",
        "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR",
      ] {
        let run = try await run(box, #"export "$2=/tmp/$B"; exec "$1" get /x"#, name, env: env)
        #expect(run.status == 2, "\(name)")
        #expect(run.stdout == "", "\(name)")
        #expect(run.stderr == "authctl: \(name) is not valid UTF-8\n")
      }
      #expect(api.connections.count == 0)
      #expect(try await run(box, #"X="$B" exec "$1" get /x"#, env: env).status == 0)
    }
  }

  /// Using the current folder does not require its name.
  @Test func folderAndLinkWhoseNamesAreNotUTF8() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Scene.routes(["GET /x": .http(200, "body")]))
      try box.profile("shop", Scene.profile(api.url))
      let env: [String: String?] = ["AUTHCTL_TOKEN": box.canary.make("access")]
      let written = try await run(
        box,
        #"""
        mkdir "$B" && cd "$B" && echo old >there && ln -s there link &&
          "$1" get /x -o new && "$1" get /x -o there && "$1" get /x -o link &&
          "$1" get /x >"$B" && ls -A | LC_ALL=C od -c && cat new there link "$B" && test -L link
        """#, env: env)
      #expect(written.stderr == "")
      #expect(written.status == 0)
      #expect(written.stdout.hasSuffix(String(repeating: "body", count: 4)))
      #expect(written.stdout.contains("377"))
      let relative = try await run(
        box,
        #"cd "$B" && cp -r "$XDG_CONFIG_HOME/authctl" own && AUTHCTL_CONFIG_DIR=own "$1" get /x"#,
        env: env)
      #expect(relative.stdout == "body")
      #expect(relative.status == 0, "\(relative.stderr)")
      let link = try await run(
        box, #"ln -s "$B/none" out && exec "$1" get /x -o out"#, env: env)
      #expect(link.status == 2)
      #expect(link.stdout == "")
      #expect(
        link.stderr == "authctl: -o: out is a link to a name that is not valid UTF-8\n")
      #expect(box.files().filter { $0.contains("none") } == [])
    }
  }
}
