import Testing

/// Every block of commands in README.md and in the manual pages does what a reader expects.
@Suite struct DocumentedCommandsTests {
  private static let password = "correct horse battery"

  /// Programs that the documents call and nobody installs for a test.
  private static let strangers = [
    "pass": """
    case $1 in otp) echo 123456 ;; *) echo 'correct horse battery' ;; esac
    """,
    "jq": "echo '{\"item\":7}'",
    "pbpaste": "echo e30.e30.x",
    "bazel": ":", "kubectl": ":", "make": ":", "deploy.sh": ":", "report.sh": ":",
  ]

  /// A server, the strangers, and the files that are spoken of.
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
      "curl '\(api.url)/login' -H 'Content-Type: application/json' --data-raw '\(body)'\n")
    try box.write("secrets/keyring", box.keyringPassword + "\n")
    try box.write("secrets/store.key", String(repeating: "5a", count: 32) + "\n")
    try box.write("home/pw.txt", Self.password + "\n")
    try box.write("home/note.txt", "a note\n")
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

  /// One shell for all blocks, as a reader has one; it ends with the first command that fails, and
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

  /// What a section "In CI" says has a test of its own.
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

  /// Pages whose examples make the profiles that the others have.
  private static let beginners = ["profile-add", "profile-import", "profile-export"]

  /// They name APIs that are not there: each is put to DemoAPI instead, which knows few of the
  /// paths. None may be wrong as a command line (2) or end with something internal (1), but where
  /// somebody else asks for what is not there.
  @Test func examplesOfTheCommands() async throws {
    try await Sandbox.with(.none) { box in
      var (api, environment) = try await world(box)
      environment["AUTHCTL_STORE"] = "plaintext"
      let pages = Source.names(in: "man").filter { $0.hasPrefix("authctl-") && $0.hasSuffix(".1") }
      var text = Self.preparation.replacing("URL", with: api.url)
      for page in pages {
        let name = String(page.dropFirst("authctl-".utf8.count).dropLast(2))
        for block in ShellBlock.all(inPage: try Source.text("man/\(page)")) {
          let world = Self.beginners.contains(name) ? "empty" : "signed-in"
          let commands = block.text.replacing(/https?:\/\/[a-z0-9.-]+(:\d+)?/, with: api.url)
          text += "in \(world) '\(name)' <<'END_OF_EXAMPLES'\n\(commands)\nEND_OF_EXAMPLES\n"
        }
      }
      #expect(pages.count > 30)
      try box.write("script", text)
      let run = try await box.run(
        [box.root + "/script"], env: environment, program: "/bin/bash", limit: 300)
      #expect(run.status == 0 && run.stdout == "", "\(run.stdout)\(run.stderr)")
    }
  }

  private static let preparation = #"""
    cd "$HOME"
    mkdir -p ci team empty/team
    cp copied.txt pw.txt note.txt change.json deploy.sh report.sh empty/
    (
      cd "$HOME/empty" && export AUTHCTL_CONFIG_DIR=$PWD/config AUTHCTL_STATE_DIR=$PWD/state
      authctl profile add shop URL --preset json --set whoami.path=/me \
        --set register.path=/register --set account=ada@shop.example \
        --set 'register.body={"email":"{username}","password":"{password}"}' \
        --set refresh.path=/refresh --set 'refresh.body={"refresh_token":"{refresh_token}"}' \
        --body '{"email":"{username}","password":"{password}"}'
      authctl profile export shop >team/shop.toml
      mkdir ci && cp team/shop.toml ci/
      cp -r . ../signed-in
      authctl profile remove shop
    ) 2>/dev/null
    (
      cd "$HOME/signed-in" && export AUTHCTL_CONFIG_DIR=$PWD/config AUTHCTL_STATE_DIR=$PWD/state
      for account in ada@shop.example bob@shop.example; do
        authctl register -p shop -u $account && authctl login -p shop -u $account
      done
      for name in school crates cluster; do
        authctl profile add $name URL --like shop && authctl login -p $name -u ada@shop.example
      done
      authctl profile default shop
    ) >/dev/null 2>&1 || { echo 'the preparation fails'; exit 1; }

    in() { # WORLD NAME, commands on standard input: reports what ends with 1 or 2.
      local name=$2
      rm -rf "$HOME/now"
      cp -r "$HOME/$1" "$HOME/now"
      (
        cd "$HOME/now" && export AUTHCTL_CONFIG_DIR=$PWD/config AUTHCTL_STATE_DIR=$PWD/state
        { echo 'set -Eo pipefail
            trap '\''status=$?; [ $status -gt 2 ] ||
              echo "$name: $BASH_COMMAND: $status" >&3'\'' ERR'
          cat; } >script
        export name
        [ "$name" != profile-export ] || authctl profile import shop team/shop.toml
        bash script 3>&1 >out 2>err </dev/null
        grep -l 'Swift\|Fatal' err
      ) 
    }

    """#
}
