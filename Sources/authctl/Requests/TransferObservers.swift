internal import AuthKit

/// What looks on while a request runs: `-D`, `-w`, `--trace` and the line of progress.
final class TransferObservers {
  private let console: Console
  private let heads: PrivateOutput?
  private let showsHead: Bool
  private let writeOut: WriteOut?
  private let progress: Progress?
  private let trace: TraceSink?

  /// Opens the files that are written, before anything is sent.
  ///
  /// - Throws: `failed` for a file that cannot be written, `usage` for a format that cannot be read.
  init(_ app: App, _ options: RequestOptions) throws(Failure) {
    let output = options.output
    console = app.console
    let isSent = !output.dryRun && !output.asCurl
    showsHead = output.dumpHeader == "-"
    heads = try output.dumpHeader.flatMap { $0 == "-" || !isSent ? nil : $0 }
      .map { (path) throws(Failure) in try PrivateOutput(path, option: "-D") }
    writeOut = try output.writeOut.map { (format) throws(Failure) in try WriteOut(format) }
    let savesBody = output.file != nil && output.file != "-"
    progress = options.silent || !isSent ? nil : Progress(console, savesBody: savesBody)
    trace = isSent ? try output.trace.map { (path) throws(Failure) in try app.trace(path) } : nil
  }

  /// `options` with what is to be heard of.
  func attached(to options: HTTPOptions) -> HTTPOptions {
    var options = options
    options.trace = trace
    if let progress { options.onProgress = progress.update }
    if let writeOut { options.onFacts = { writeOut.facts.append($0) } }
    return options
  }

  /// The head of the answer has come; `text` is what may be shown of it.
  func receiveHead(_ head: ResponseHead, _ text: String) throws(Failure) {
    // Lines that come when they like, on the same terminal as a rule.
    if BodySink.isStream(head) { progress?.end() }
    try heads?.write(Array(text.utf8))
    guard showsHead else { return }
    try console.write(Array(text.utf8))
  }

  /// The request is over, with the exit status `code`, by `failure` where it failed.
  func end(_ answer: WriteOut.RecipeResponse, code: Int32, _ failure: Failure?) throws(Failure) {
    progress?.end()
    try writeOut?.write(answer, code: code, failure, to: console)
  }
}

extension App {
  /// The file of `--trace`, or standard error.
  ///
  /// - Throws: `failed` when it cannot be written.
  func trace(_ path: String) throws(Failure) -> TraceSink {
    guard path != "-" else { return TraceSink(redactor) { [console] in console.traced($0) } }
    let file = try PrivateOutput(path, option: "--trace")
    var isWhole = true
    return TraceSink(redactor) { [console] bytes in
      do throws(Failure) {
        if isWhole { try file.write(bytes) }
      } catch {
        isWhole = false
        console.warn("the trace breaks off: \(error.message)")
      }
    }
  }
}
