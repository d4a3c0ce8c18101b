import Glibc
import Testing

/// The small part of `make test-asan` and `make test-tsan`: each sanitizer reports a planted
/// mistake with the options that the program gets, and what is left out has its reason.
@Suite struct SanitizerTests {
  @Test func plantedMistakesAreReported() async throws {
    let script = #filePath.replacing(
      "EndToEndTests/Security/SanitizerTests.swift", with: "sanitizers/run.sh")
    try await Sandbox.with(.none) { box in
      let run = try await box.run(
        // Its compilers come with Swift.
        "check", env: ["PATH": getenv("PATH").map { String(cString: $0) }], program: script,
        limit: 300)
      #expect(run.status == 0 && run.stdout == "" && run.stderr == "", "\(run.stdout)\(run.stderr)")
    }
  }
}
