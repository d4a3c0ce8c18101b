internal import AuthKit

/// The observers of a request: `-D`, `-w`, `--trace` and the progress line.
final class TransferObservers {
  private let console: Console
  private let heads: PrivateOutput?
  private let showsHead: Bool
  private let writeOut: WriteOut?
  private let progress: Progress?
  private let trace: TraceSink?
  private let isRaw: Bool
  private let isSilent: Bool

  /// Opens the output files, before anything is sent.
  ///
  /// - Parameter sendsBody: whether the request has a body.
  /// - Throws: `failed` for a file that cannot be written, `usage` for a format that cannot be read.
  init(_ app: App, _ options: RequestOptions, sendsBody: Bool) throws(Failure) {
    let output = options.output
    console = app.console
    isRaw = output.raw
    isSilent = options.silent
    let isSent = !output.dryRun && !output.asCurl
    showsHead = output.dumpHeader == "-"
    heads = try output.dumpHeader.flatMap { $0 == "-" || !isSent ? nil : $0 }
      .map { (path) throws(Failure) in try PrivateOutput(path, option: "-D") }
    writeOut = try output.writeOut.map { (format) throws(Failure) in try WriteOut(format) }
    let savesBody = output.file != nil && output.file != "-"
    progress =
      options.silent || !isSent
      ? nil : Progress(console, savesBody: savesBody, sendsBody: sendsBody)
    trace = isSent ? try output.trace.map { (path) throws(Failure) in try app.trace(path) } : nil
  }

  /// Returns `options` with these observers attached.
  func attached(to options: HTTPOptions) -> HTTPOptions {
    var options = options
    options.trace = trace
    options.raw = isRaw
    if let progress { options.onProgress = progress.update }
    if let writeOut { options.onFacts = { writeOut.facts.append($0) } }
    return options
  }

  /// Handles the head of an answer; `text` is its masked form.
  func receiveHead(_ head: ResponseHead, _ text: String) throws(Failure) {
    // A stream's lines arrive at any time, usually on the same terminal.
    if BodySink.isStream(head) || progress?.isForUpload ?? false { progress?.end() }
    try heads?.write(Array(text.utf8))
    guard showsHead else { return }
    try console.write(Array(text.utf8))
  }

  /// Says on a terminal which file was saved.
  func tellSaved(_ sink: BodySink?) {
    guard console.isErrTerminal, !isSilent, let path = sink?.path, let size = sink?.savedSize else {
      return
    }
    progress?.end()
    console.notice(line: "Saved \(DisplayText.oneLine(path)) (\(Progress.size(Double(size)))).")
  }

  /// Finishes the output; `code` is the exit status, `failure` its cause if the request failed.
  func end(_ answer: WriteOut.Outcome, code: Int32, _ failure: Failure?) throws(Failure) {
    progress?.end()
    try writeOut?.write(answer, code: code, failure, to: console)
  }
}

extension App {
  /// Opens the file of `--trace`, or standard error.
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
        console.warn("the trace is incomplete: \(error.message)")
      }
    }
  }
}
