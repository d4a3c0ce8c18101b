import Testing

@testable import AuthKit

/// What is said about a library that cannot be opened.
@Suite struct MissingLibraryTests {
  @Test func onlyAMissingFileIsNotInstalled() {
    func failure(_ reason: String) -> Failure {
      .missingLibrary(.failed, "libcurl 4", package: "libcurl4", reason: reason)
    }
    let start = "libcurl.so.4: cannot open shared object file: "
    let missing = failure(start + "No such file or directory")
    #expect(missing.message == "libcurl 4 is not installed" && missing.kind == .failed)
    #expect(missing.hint == "apt install libcurl4")
    let other = failure(start + "Too many open files")
    #expect(other.message == "libcurl 4 cannot be loaded: \(start)Too many open files")
    #expect(other.hint == nil)
  }
}
