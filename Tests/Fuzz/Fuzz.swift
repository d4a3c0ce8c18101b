import Glibc

/// The program of `make fuzz`: libFuzzer (https://llvm.org/docs/LibFuzzer.html) with the target that
/// the variable FUZZ_TARGET names. Its arguments are libFuzzer's.
@main enum Fuzz {
  /// libFuzzer's main function without its main.
  @_silgen_name("LLVMFuzzerRunDriver")
  private static func run(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
  ) -> Int32

  private static let target: FuzzTarget = {
    let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
      say("FUZZ_TARGET is none of \(FuzzTarget.all.map(\.name).joined(separator: " "))")
      exit(2)
    }
    return target
  }()

  private static func say(_ text: String) {
    let line = Array((text + "\n").utf8)
    _ = write(STDERR_FILENO, line, line.count)
  }

  static func main() {
    // Presets and others that are read once count for no input's time.
    try? target.run([])
    var count = CommandLine.argc
    var arguments = CommandLine.unsafeArgv
    exit(
      run(&count, &arguments) { start, count in
        do {
          try Fuzz.target.run(Array(UnsafeBufferPointer(start: start, count: count)))
        } catch {
          // libFuzzer keeps the input of a process that aborts.
          Fuzz.say("\(error)")
          abort()
        }
        return 0
      })
  }
}
