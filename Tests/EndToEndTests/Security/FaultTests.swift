import Glibc
import Testing

/// A few dozen of the faults of `make test-faults`: a full disk, a server that hangs up, SIGKILL
/// (rule T8). Tests/faults/run.py says what is checked after each.
@Suite struct FaultTests {
  @Test func systemCallsFail() async throws {
    let folder = #filePath.replacing("EndToEndTests/Security/FaultTests.swift", with: "faults")
    try await Sandbox.with(.none) { box in
      let run = try await box.run(
        [
          "\(folder)/run.py", "--quick", "--jobs", "2", "--authctl", try Built.authctl(),
          "--demo-api", try Built.demoAPI(),
        ],
        // Its clang comes with Swift.
        env: ["PATH": getenv("PATH").map { String(cString: $0) }, "PYTHONDONTWRITEBYTECODE": "1"],
        program: "/usr/bin/python3", limit: 180)
      #expect(run.status == 0, "\(run.stdout)\n\(run.stderr)")
      #expect(run.stdout.contains(" runs in "), "\(run.stdout)\n\(run.stderr)")
    }
  }
}
