import Glibc
import Testing

/// `make install`, `make uninstall`, and the files of a release.
@Suite struct InstallTests {
  private func make(_ box: Sandbox, _ words: String...) async throws -> Run {
    try await box.run(
      ["-C", Source.root, "AUTHCTL=\(Built.authctl())", "DESTDIR=\(box.root)/here"] + words,
      program: "/usr/bin/make")
  }

  private func installed(_ box: Sandbox) -> [String] {
    box.files().filter { $0.hasPrefix("here/") }.map { String($0.dropFirst("here/".utf8.count)) }
  }

  @Test func installsEverythingAndTakesAllOfItAway() async throws {
    try await Sandbox.with(.none) { box in
      let install = try await make(box, "install", "PREFIX=/opt/a b")
      #expect(install.status == 0 && install.stderr == "", "\(install.stderr)")
      var wanted = ["bin/authctl"]
      for name in ["bazel", "docker", "git"] {
        wanted += ["bin/\(name)-credential-authctl", "share/man/man1/\(name)-credential-authctl.1"]
      }
      wanted += Source.names(in: "man").filter { $0.hasSuffix(".1") }.map { "share/man/man1/\($0)" }
      wanted += [
        "share/man/man5/authctl-profile.5", "share/bash-completion/completions/authctl",
        "share/zsh/site-functions/_authctl", "share/fish/vendor_completions.d/authctl.fish",
      ]
      #expect(installed(box).sorted() == wanted.map { "opt/a b/\($0)" }.sorted())
      let program = "\(box.root)/here/opt/a b/bin/git-credential-authctl"
      let run = try await box.run(
        "get", stdin: "protocol=https\nhost=x.example\n\n", program: program)
      #expect(run.status == 0 && run.stdout == "" && run.stderr == "")
      let page = try await box.run(
        ["-M", "\(box.root)/here/opt/a b/share/man", "-w", "git-credential-authctl"],
        program: "/usr/bin/man")
      #expect(page.status == 0, "\(page.stderr)")

      let uninstall = try await make(box, "uninstall", "PREFIX=/opt/a b")
      #expect(uninstall.status == 0 && uninstall.stderr == "", "\(uninstall.stderr)")
      #expect(installed(box) == [])
    }
  }

  @Test func withoutABuildThereIsNothingToInstall() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await make(box, "install", "AUTHCTL=/nowhere")
      #expect(run.status == 2)
      #expect(run.stderr.hasPrefix("/nowhere does not exist yet: run make first\n"))
      #expect(installed(box) == [])
    }
  }

  @Test func theVersionStandsInOnePlace() async throws {
    try await Sandbox.with(.none) { box in
      let version = try await box.run([], program: "\(Source.root)/packaging/version.sh").stdout
      #expect(version.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
      let said = try await box.run("--version").stdout
      #expect(said.hasPrefix("authctl \(version.dropLast())"))
      #expect(try Source.text("CHANGELOG.md").contains("## [\(version.dropLast())]"))
    }
  }
}
