import CSystem
import Glibc
import Testing

/// Stand-ins for libraries, with libraries that are compiled here. Each is opened in a process of its
/// own: what ld.so has loaded once, it keeps by its name.
@Suite struct StandInTests {
  private static let names = "part_first part_second"

  /// A folder with `libwhole.so`, which looks for two functions of version PART_1 in `libpart.so.1`,
  /// and with that library, unless it is not `installed`. `call_first` of libwhole calls one of them.
  private static func folder(installed: Bool = true) throws -> String {
    var template = Array("/tmp/authctl-stand-in-XXXXXX\0".utf8CString)
    let folder = String(cString: try #require(mkdtemp(&template)))
    let part = "int part_first(void) { return 41; } int part_second(void) { return 42; }"
    let whole = """
      int part_first(void), part_second(void); int (*second)(void) = part_second;
      int call_first(void) { return part_first(); } int answer(void) { return 7; }
      """
    try #require(
      system(
        """
        cd \(folder) && echo '\(part)' > part.c && echo '\(whole)' > whole.c &&
        echo 'PART_1 { part_*; };' > part.map &&
        clang -shared -fPIC -o libpart.so.1 part.c -Wl,-soname,libpart.so.1,--version-script=part.map &&
        clang -shared -fPIC -o libwhole.so whole.c libpart.so.1 -Wl,-z,now '-Wl,-rpath,$ORIGIN'
        """) == 0)
    if !installed { unlink(folder + "/libpart.so.1") }
    return folder
  }

  private static func remove(_ folder: String) { _ = system("rm -r \(folder)") }

  /// Opens libwhole with a stand-in for libpart, and returns what its function `name` says; nil if the
  /// library cannot be opened.
  private static func result(
    of name: String, in folder: String, versions: String, symbols: String
  ) -> Int32? {
    let library = "libpart.so.1".withCString { library in
      versions.withCString { versions in
        symbols.withCString { symbols in
          var part = authctl_stand_in(library: library, versions: versions, symbols: symbols)
          return authctl_open_without(&part, 1, folder + "/libwhole.so")
        }
      }
    }
    guard let library, let function = dlsym(library, name) else { return nil }
    return unsafeBitCast(function, to: (@convention(c) () -> Int32).self)()
  }

  @Test(arguments: ["PART_1", "PART_0 PART_1"])
  func libraryIsLeftOut(_ versions: String) async throws {
    let folder = try Self.folder(installed: false)
    defer { Self.remove(folder) }
    await #expect(processExitsWith: .exitCode(7)) {
      [folder = folder as String, versions = versions as String] in
      exit(Self.result(of: "answer", in: folder, versions: versions, symbols: Self.names) ?? 1)
    }
  }

  @Test func functionOfALibraryThatIsLeftOut() async throws {
    let folder = try Self.folder()
    defer { Self.remove(folder) }
    await #expect(processExitsWith: .signal(SIGABRT)) { [folder = folder as String] in
      exit(Self.result(of: "call_first", in: folder, versions: "PART_1", symbols: Self.names) ?? 1)
    }
  }

  /// A newer library looks for a function, or a version, that the stand-in does not have.
  @Test(arguments: [("PART_1", "part_first"), ("PART_0", names), ("", names)])
  func librariesAreLoadedAsUsual(_ versions: String, _ symbols: String) async throws {
    let folder = try Self.folder()
    defer { Self.remove(folder) }
    await #expect(processExitsWith: .exitCode(41)) {
      [folder = folder as String, versions = versions as String, symbols = symbols as String] in
      exit(Self.result(of: "call_first", in: folder, versions: versions, symbols: symbols) ?? 1)
    }
  }
}
