import Glibc
import Testing

/// Every example in README.md's section "In CI": runs its commands in an environment like the real
/// one.
@Suite struct RecipeTests {
  private static let system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

  // MARK: GitHub Actions

  /// Runs a job as GitHub's runner does: a new shell for each step, variables passed on in a file,
  /// and after a failed step only those with `if: always()`. Returns the runs of its steps.
  private static func runGitHub(
    _ title: String, _ place: RecipePlace, failing: Int? = nil
  ) async throws -> [Run] {
    let workflow = try Readme.yaml(title)
    guard case .object(let jobs)? = workflow["jobs"], let job = jobs.first?.value else {
      throw HarnessError("\(title) has no job")
    }
    let variables = place.box.root + "/temp/variables"
    var env = [
      "PATH": "\(place.bin):/usr/bin:/bin", "HOME": place.box.home, "CI": "true",
      "GITHUB_ACTIONS": "true", "GITHUB_ENV": variables, "GITHUB_WORKSPACE": place.work,
      "RUNNER_TEMP": place.box.root + "/temp", "LANG": "C.UTF-8",
    ].merging(job["env"]?.texts ?? [:]) { $1 }
    try place.box.write("temp/variables", "")
    var runs: [Run] = []
    var hasFailed = false
    for step in job["steps"]?.elements ?? [] {
      guard let script = step["run"]?.string else {
        #expect(step["uses"] == "actions/checkout@v4")
        continue
      }
      if hasFailed, step["if"] != "always()" { continue }
      let own = (step["env"]?.texts ?? [:]).mapValues {
        $0.replacing("${{ secrets.SHOP_PASSWORD }}", with: place.password)
      }
      let run = try await place.run(
        runs.count == failing ? "exit 1" : script, env: env.merging(own) { $1 })
      hasFailed = hasFailed || run.status != 0
      runs.append(run)
      for line in (place.box.read("temp/variables") ?? "").split(separator: "\n") {
        let parts = line.split(separator: "=", maxSplits: 1)
        env[String(parts[0])] = String(parts[1])
      }
    }
    return runs
  }

  @Test func gitHubOneStep() async throws {
    try await RecipePlace.with { place in
      let runs = try await Self.runGitHub(".github/workflows/deploy.yml", place)
      #expect(runs.map(\.status) == [0])
      #expect(runs.map(\.stderr) == [""])
      #expect(runs.map(\.stdout) == [""])
      try place.expectItems("work/deployed.json")
      try await place.expectCounts(["POST /login": 1, "GET /items": 1, "POST /logout": 1])
      #expect(!place.box.files().contains { $0.contains("authctl/") && $0.contains("session") })
    }
  }

  @Test(arguments: [nil, 2]) func gitHubSeveralSteps(_ failing: Int?) async throws {
    try await RecipePlace.with { place in
      let runs = try await Self.runGitHub(
        ".github/workflows/report.yml", place, failing: failing)
      #expect(runs.map(\.status) == (failing == nil ? [0, 0, 0, 0] : [0, 0, 1, 0]))
      #expect(runs.map(\.stdout) == ["", "", "", ""])
      #expect(runs.first?.stderr == "")
      #expect(
        runs[1].unfolded.hasPrefix("Signed in to \(place.work)/ci/shop.toml as ci. "),
        "\(runs[1].stderr)")
      #expect(runs[2].stderr == "")
      #expect(
        runs.last?.unfolded
          == "Signed out of \(place.work)/ci/shop.toml as ci, at the server and on this machine. ",
        "\(runs.last?.stderr ?? "")")
      if failing == nil { try place.expectItems("work/items.json") }
      var counts: [String: Double] = ["POST /login": 1, "POST /logout": 1]
      if failing == nil { counts["GET /items"] = 1 }
      try await place.expectCounts(counts)
      #expect(list(place.box.root + "/temp/authctl/sessions") == ["lock"])
      #expect(permissions(place.box.root + "/temp/authctl.key") == 0o600)
    }
  }

  // MARK: GitLab CI

  /// Runs a job as the docker executor does: all lines in one shell, in a checkout that is writable
  /// by everyone.
  private static func runGitLab(
    _ name: String, _ place: RecipePlace, from first: Int = 0
  ) async throws -> Run {
    let job = try #require(try Readme.yaml(".gitlab-ci.yml")[name])
    let lines = (job["script"]?.elements ?? []).compactMap(\.string)
    for path in ["", "/ci", "/ci/shop.toml", "/Makefile"] {
      chmod(place.work + path, path.contains(".") || path == "/Makefile" ? 0o666 : 0o777)
    }
    let env = [
      "PATH": "\(place.bin):\(system)", "HOME": place.box.home, "CI": "true", "GITLAB_CI": "true",
      "CI_PROJECT_DIR": place.work, "TMPDIR": place.box.root + "/temp",
      "AUTHCTL_PASSWORD": place.password,
      "AUTHCTL_STORE_PASSPHRASE": place.box.canary.make("passphrase"),
    ].merging(job["variables"]?.texts ?? [:]) { $1 }
    return try await place.run(
      (["umask 0000"] + lines[first...]).joined(separator: "\n") + "\n",
      shell: ["/bin/bash", "-eo", "pipefail"], env: env)
  }

  @Test func gitLabOneStep() async throws {
    try await RecipePlace.with { place in
      let run = try await Self.runGitLab("deploy", place)
      #expect(run.stderr == "" && run.stdout == "" && run.status == 0)
      try place.expectItems("work/deployed.json")
      try await place.expectCounts(["POST /login": 1, "GET /items": 1, "POST /logout": 1])
    }
  }

  @Test func gitLabSeveralSteps() async throws {
    try await RecipePlace.with { place in
      let run = try await Self.runGitLab("report", place)
      #expect(run.status == 0)
      #expect(run.stdout == "")
      #expect(
        run.unfolded.hasSuffix(
          " Signed out of \(place.work)/ci/shop.toml as ci, at the server and on this machine. "),
        "\(run.stderr)")
      try place.expectItems("work/items.json")
      try await place.expectCounts(["POST /login": 1, "GET /items": 1, "POST /logout": 1])
    }
  }

  /// The first line of the job is necessary.
  @Test(arguments: ["deploy": 125, "report": 2] as [String: Int32])
  func gitLabCheckoutAsItIsRefused(_ name: String, _ status: Int32) async throws {
    try await RecipePlace.with { place in
      let run = try await Self.runGitLab(name, place, from: 1)
      #expect(run.status == status)
      #expect(
        run.stderr == """
          authctl: ./ci/shop.toml is writable by other users
          hint: chmod go-w \(place.work)/ci/shop.toml

          """)
      #expect(run.stdout == "")
      try await place.expectCounts([:])
    }
  }

  // MARK: cron

  /// An unattended job: when its session can no longer be renewed, the stored command signs in
  /// again.
  @Test func cron() async throws {
    try await RecipePlace.with(account: "backup") { place in
      try place.box.write("etc/shop-password", place.password + "\n", mode: 0o600)
      let base = [
        "PATH": "/usr/bin:/bin", "HOME": place.box.home, "SHELL": "/bin/sh", "LOGNAME": "backup",
      ]
      let login = try await place.run(
        try Readme.text("the user backup, once"),
        env: base.merging(["PATH": "\(place.bin):\(Self.system)"]) { $1 }, folder: place.box.home)
      #expect(login.status == 0, "\(login.stderr)")
      #expect(login.unfolded.contains("Signed in to shop as backup. "), "\(login.stderr)")

      var env = base
      var jobs: [String] = []
      for line in try Readme.block("crontab -e") {
        if line.first?.isNumber == true {
          jobs.append(line.split(separator: " ", maxSplits: 5).last.map(String.init) ?? "")
        } else {
          let parts = line.split(separator: "=", maxSplits: 1)
          env[String(parts[0])] = String(parts[1])
        }
      }
      try #require(jobs.count == 1 && !jobs[0].contains("%"))
      for isDead in [false, true] {
        if isDead {
          try await place.api.expire()
          try await place.api.misbehave(["path": "/refresh", "times": 1, "status": 401])
        }
        let run = try await place.run(["/bin/sh", "-c", jobs[0]], env: env, folder: place.box.home)
        #expect(run.stderr == "" && run.stdout == "" && run.status == 0)
        try place.expectItems("home/items.json")
        unlink(place.box.home + "/items.json")
      }
      #expect(try await place.api.count("POST /login") == 2)
    }
  }

  // MARK: systemd

  /// A service with its own user, credentials and a state folder, but no home folder.
  @Test(.enabled(if: geteuid() == 0, "only root can become another user"))
  func systemd() async throws {
    try await RecipePlace.with { place in
      let title = "/etc/systemd/system/shop-report.service"
      var settings: [String: [String]] = [:]
      for line in try Readme.block(title) where line.contains("=") {
        let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
        settings[parts[0], default: []].append(parts[1])
      }
      #expect(settings["Type"] == ["oneshot"] && settings["DynamicUser"] == ["yes"])
      let (credentials, states) = (place.box.root + "/credentials", place.box.root + "/var")
      let state = try #require(settings["StateDirectory"]?.first)
      mkdir(states, 0o755)
      mkdir(states + "/" + state, 0o700)
      chown(states + "/" + state, uid_t(Headless.stranger), gid_t(Headless.stranger))
      try place.box.write("etc/store-key", String(repeating: "4b", count: 32) + "\n")
      try place.box.write("etc/shop-password", place.password + "\n")
      for credential in try #require(settings["LoadCredential"]) {
        let parts = credential.split(separator: ":").map(String.init)
        let content = try #require(readFile(place.stood(parts[1])))
        let path = try place.box.write(
          "credentials/" + parts[0], String(decoding: content, as: UTF8.self), mode: 0o440)
        chown(path, 0, gid_t(Headless.stranger))
      }
      chmod(credentials, 0o755)
      func specified(_ text: String) -> String {
        text.replacing("%S", with: states).replacing("%d", with: credentials)
      }
      var env = [
        "PATH": Self.system, "LANG": "C.UTF-8", "USER": state, "LOGNAME": state,
        "INVOCATION_ID": "0123456789abcdef0123456789abcdef", "CREDENTIALS_DIRECTORY": credentials,
        "STATE_DIRECTORY": states + "/" + state,
      ]
      for assignment in (settings["Environment"] ?? []).flatMap({ $0.split(separator: " ") }) {
        let parts = assignment.split(separator: "=", maxSplits: 1)
        env[String(parts[0])] = specified(String(parts[1]))
      }
      let commands = try #require(settings["ExecStart"])
      // The second time the session exists.
      for _ in 0..<2 {
        for command in commands {
          let words = specified(command).split(separator: " ").map(String.init)
          let run = try await place.run(Headless.asStranger + words, env: env, folder: "/")
          #expect(run.status == 0, "\(command): \(run.stderr)")
          #expect(run.stdout == "")
        }
        try place.expectItems("var/\(state)/items.json")
        unlink(states + "/\(state)/items.json")
      }
      try await place.expectCounts(["POST /login": 1, "GET /items": 2])
    }
  }

  /// systemd itself accepts the unit.
  @Test(.enabled(if: access("/usr/bin/systemd-analyze", X_OK) == 0, "no systemd-analyze here"))
  func systemdUnit() async throws {
    try await Sandbox.with(.none) { box in
      let text = try Readme.text("/etc/systemd/system/shop-report.service")
        .replacing("/usr/local/bin/authctl", with: "/bin/true")
      let unit = try box.write("shop-report.service", text, mode: 0o644)
      let run = try await box.run("verify", unit, program: "/usr/bin/systemd-analyze")
      #expect(run.stderr == "" && run.status == 0)
    }
  }

  // MARK: Docker

  /// Replaces docker: runs the words after the image's name with a container's environment and the
  /// variables of -e.
  private static let docker = #"""
    #!/bin/bash
    [ "$1" = run ] || exit 125
    shift
    export HOSTNAME=0123456789ab
    names=" PATH HOME HOSTNAME "
    while :; do
      case $1 in
      --rm) shift ;;
      -v) shift 2 ;;
      -e) case $2 in *=*) export "${2?}" ;; esac; names+="${2%%=*} "; shift 2 ;;
      -*) exit 125 ;;
      *) break ;;
      esac
    done
    [ "$1" = shop-report ] || exit 125
    shift
    # Not by env(1), whose arguments everybody can read.
    for name in $(compgen -e); do case $names in *" $name "*) ;; *) unset "$name" ;; esac; done
    exec "$@"

    """#

  private static func container(_ place: RecipePlace) throws -> [String: String] {
    try place.box.write("tools/docker", docker, mode: 0o755)
    return [
      "PATH": "\(place.box.root)/tools:\(place.bin):\(system)", "HOME": place.box.home,
      "HOSTNAME": "0123456789ab",
    ]
  }

  @Test func dockerWithAToken() async throws {
    try await RecipePlace.with { place in
      let answer = try await place.api.ask(
        "POST", "/login", ["email": .string(Shop.ada), "password": .string(Shop.password)])
      let token = try #require(answer["access_token"]?.string)
      place.box.canary.watch(token)
      try await place.api.reset()
      let env = try Self.container(place).merging(["AUTHCTL_TOKEN": token]) { $1 }
      let run = try await place.run(try Readme.text("a token"), env: env)
      #expect(run.stderr == "" && run.status == 0)
      #expect(try JSON(parsing: run.stdout)[0]?["id"] != nil)
      try await place.expectCounts(["GET /items": 1])
    }
  }

  @Test func dockerBuildWithASecret() async throws {
    try await RecipePlace.with { place in
      try place.box.write("secrets/shop-password", place.password + "\n", mode: 0o400)
      let words = try Readme.text("Dockerfile").replacing("\\\n", with: " ")
        .split(whereSeparator: \.isWhitespace).map(String.init)
      #expect(words.prefix(2) == ["RUN", "--mount=type=secret,id=shop-password"])
      let run = try await place.run(
        ["/bin/sh", "-c", words.dropFirst(2).joined(separator: " ")],
        env: try Self.container(place))
      #expect(run.stderr == "" && run.stdout == "" && run.status == 0)
      try place.expectItems("work/deployed.json")
      try await place.expectCounts(["POST /login": 1, "GET /items": 1, "POST /logout": 1])
    }
  }

  @Test func dockerWithAVolume() async throws {
    try await RecipePlace.with { place in
      var place = place
      try place.box.write("secrets/shop-password", place.password + "\n", mode: 0o400)
      try place.box.write("secrets/store-key", String(repeating: "4b", count: 32), mode: 0o400)
      place.stands.append(("/state", place.box.folder("volume")))
      for _ in 0..<2 {
        let run = try await place.run(
          try Readme.text("a session"), env: try Self.container(place))
        #expect(run.status == 0, "\(run.stderr)")
        #expect(try JSON(parsing: run.stdout)[0]?["id"] != nil)
      }
      try await place.expectCounts(["POST /login": 1, "GET /items": 2])
    }
  }
}

extension Run {
  /// stderr as one line: the line breaks in notices depend on the length of a path.
  fileprivate var unfolded: String { stderr.replacing("\n", with: " ") }
}

extension Sandbox {
  /// Makes an empty folder below `root`; returns its path.
  fileprivate func folder(_ name: String) -> String {
    mkdir(root + "/" + name, 0o700)
    return root + "/" + name
  }
}
