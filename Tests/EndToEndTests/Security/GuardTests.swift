import Glibc
import Testing

/// The table of `make test-guards` fits the sources and the tests: a guard that is moved or renamed
/// takes its fault along.
@Suite struct GuardTests {
  @Test func tableFits() async throws {
    try await Sandbox.with(.none) { box in
      let run = try await box.run(
        ["\(Source.root)/Tests/guards/run.py", "--check"],
        env: ["PYTHONDONTWRITEBYTECODE": "1"], program: "/usr/bin/python3")
      #expect(run.status == 0, "\(run.stdout)\n\(run.stderr)")
      #expect(run.stdout.hasSuffix(" faults fit the sources and tests\n"), "\(run.stdout)")
    }
  }
}
