import Testing

/// Every block of commands in README.md and in the manual pages works as described.
@Suite struct DocumentedCommandsTests {
  private static let password = "correct horse battery"

  /// Programs that the documents call but the tests do not install.
  private static let strangers = [
    "pass": """
    case $1 in otp) echo 123456 ;; *) echo 'correct horse battery' ;; esac
    """,
    "jq": "case $* in *url*) echo '{\"url\":\"/me\"}' ;; *) echo '{\"item\":7}' ;; esac",
    "pbpaste": "echo e30.e30.x",
    "bazel": ":", "kubectl": ":", "make": ":", "deploy.sh": ":", "report.sh": ":",
  ]

  /// Provides a server, the missing programs, and the files that the documents mention.
  private func world(_ box: Sandbox) async throws -> (api: APIServer, env: [String: String?]) {
    let api = try await box.api()
    for (name, text) in Self.strangers {
      let place = name.hasSuffix(".sh") ? "home/\(name)" : "programs/\(name)"
      try box.write(place, "#!/bin/sh\n\(text)\n", mode: 0o700)
    }
    let linked = try await box.run(
      "-c", "ln -s \"$0\" \"$1/authctl\"", try Built.authctl(), box.root + "/programs",
      program: "/bin/sh")
    #expect(linked.status == 0)
    let body = "{\"email\":\"ada@example.com\",\"password\":\"\(Self.password)\"}"
    try box.write(
      "home/copied.txt",
      "curl 'http://localhost:\(api.port)/login' -H 'Content-Type: application/json' --data-raw '\(body)'\n"
    )
    try box.write("secrets/keyring", box.keyringPassword + "\n")
    try box.write("secrets/store.key", String(repeating: "5a", count: 32) + "\n")
    try box.write("home/pw.txt", Self.password + "\n")
    for name in ["note.txt", "README.md", "report.pdf", "me.png"] {
      try box.write("home/\(name)", "a file\n")
    }
    try box.write("home/change.json", "{\"count\":3}\n")
    return (
      api,
      [
        "PATH": "\(box.root)/programs:/usr/local/bin:/usr/bin:/bin",
        "AUTHCTL_PASSWORD": Self.password, "AUTHCTL_NO_INPUT": "1",
        "AUTHCTL_STORE_KEY_FILE": box.root + "/secrets/store.key",
      ]
    )
  }

  /// Runs all blocks in one shell, as a reader would; stops at the first command that fails and
  /// names it.
  private func script(_ blocks: [ShellBlock], _ box: Sandbox, at api: APIServer) -> String {
    let stands = [
      ("http://127.0.0.1:8080", api.url), ("/run/secrets/", box.root + "/secrets/"),
    ]
    return "set -Eeuo pipefail\ntrap 'echo \"block in line $BLOCK: $BASH_COMMAND: $?\" >&2' ERR\n"
      + blocks.map {
        "BLOCK=\($0.line)\n"
          + stands.reduce($0.text) { $0.replacing($1.0, with: $1.1) } + "\n"
      }.joined()
  }

  private func run(_ blocks: [ShellBlock]) async throws {
    try await Sandbox.with { box in
      let (api, environment) = try await world(box)
      try box.write("script", script(blocks, box, at: api))
      let run = try await box.run(
        [box.root + "/script"], env: environment, program: "/bin/bash", limit: 120)
      #expect(run.status == 0, "\(run.stderr)")
    }
  }

  /// The section "In CI" has a test of its own.
  @Test func readme() async throws {
    let blocks = ShellBlock.all(inMarkdown: try Source.text("README.md"))
    #expect(blocks.count > 5)
    for block in blocks {
      #expect(block.excuse?.isEmpty != true, "line \(block.line): why is it not run?")
    }
    try await run(blocks.filter { $0.excuse == nil && $0.section != "In CI" })
  }

  @Test func examplesOfTheOverview() async throws {
    let blocks = ShellBlock.all(inPage: try Source.text("man/authctl.1"))
    #expect(blocks.count > 3)
    try await run(blocks)
  }

  // MARK: Examples of the commands

  /// Examples that fail with DemoAPI: it has no profile to import and no registry; and a plaintext
  /// store has no lock.
  private static let ends = ["helper-docker": 1, "profile-import": 2, "store-unlock": 2]

  /// The examples name APIs that do not exist: each is sent to DemoAPI instead, which has few of
  /// the paths. None may exit with 2 (wrong command line) or 1 (internal failure).
  @Test func examplesOfTheCommands() async throws {
    try await Sandbox.with(.none) { box in
      var (api, environment) = try await world(box)
      environment["AUTHCTL_STORE"] = "plaintext"
      for name in ["requests", "orders"] {
        try box.write("home/\(name).ndjson", "{\"url\":\"/me\"}\n")
      }
      let pages = Source.names(in: "man").filter { $0.hasPrefix("authctl-") && $0.hasSuffix(".1") }
      var text = Self.preparation.replacing("URL", with: api.url)
      for page in pages {
        let name = String(page.dropFirst("authctl-".utf8.count).dropLast(2))
        for command in try ShellBlock.all(inPage: Source.text("man/\(page)")).flatMap(\.commands) {
          let typed = command.replacing("https://api.shop.example", with: api.url)
            .replacing(/https:\/\/[a-z.]+\.example/, with: "http://localhost:\(api.port)")
            .replacing(/http:\/\/127.0.0.1:8\d+/, with: api.url)
            .replacing("/run/secrets/", with: box.root + "/secrets/")
          text += "example \(name) \(Self.ends[name] ?? 0) <<'END'\n\(typed)\nEND\n"
        }
      }
      #expect(pages.count > 30)
      try box.write("script", text)
      let run = try await box.run(
        [box.root + "/script"], env: environment, program: "/bin/bash", limit: 300)
      #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(run.stdout)\(run.stderr)")
    }
  }

  private static let preparation = #"""
    cd "$HOME"
    mkdir -p signed-in/team signed-in/ci
    cp *.* signed-in/
    (
      cd "$HOME/signed-in" && export AUTHCTL_CONFIG_DIR=$PWD/config AUTHCTL_STATE_DIR=$PWD/state
      authctl profile add shop URL --preset json --set whoami.path=/me \
        --set register.path=/register --set account=ada@shop.example \
        --set 'register.body={"email":"{username}","password":"{password}"}' \
        --set refresh.path=/refresh --set 'refresh.body={"refresh_token":"{refresh_token}"}' \
        --body '{"email":"{username}","password":"{password}"}'
      authctl profile export shop >team/shop.toml
      cp team/shop.toml ci/
      for account in ada@shop.example bob@shop.example; do
        authctl register -p shop -u $account && authctl login -p shop -u $account
      done
      for name in school crates cluster; do
        authctl profile add $name URL --like shop && authctl login -p $name -u ada@shop.example
      done
      authctl profile default shop
    ) >/dev/null 2>&1 || { echo 'the preparation fails'; exit 1; }

    example() { # PAGE STATUS, a command on standard input: tells when it ends with 1 or 2.
      rm -rf "$HOME/now"
      cp -r "$HOME/signed-in" "$HOME/now"
      (
        cd "$HOME/now" && export AUTHCTL_CONFIG_DIR=$PWD/config AUTHCTL_STATE_DIR=$PWD/state
        { echo 'set -o pipefail'; cat; } >command
        case $(<command) in
          *'add shop '* | *'import shop '*) rm config/profiles/shop.toml ;;
          *'add school '*) rm config/profiles/school.toml ;;
        esac
        bash command >out 2>err </dev/null
        status=$?
        [ $status -gt 2 ] || [ $status -eq 0 ] || [ $status -eq $2 ] ||
          { echo "$1: $status"; cat command err; }
      )
      return 0
    }

    """#
}
