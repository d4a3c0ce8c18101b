internal import ArgumentParser
internal import AuthKit

/// `authctl batch`
struct Batch: Command {
  static let configuration = CommandConfiguration(
    commandName: "batch", abstract: "Send many requests from one process: NDJSON in, NDJSON out.",
    discussion: """
      Each line of standard input is a request, and each line of standard output
      is the answer to one:
        {"id":1,"method":"POST","url":"/orders","json":{"item":7}}
        {"id":1,"status":201,"headers":{...},"json":{"order":12}}
      The default method is GET. json is sent as JSON. body is text that is sent
      unchanged, as a form unless headers has a Content-Type. An answer has json,
      body (text) or body_base64. If there is no response or it is refused, the
      answer has an error instead. After a failure the others continue. The exit
      code is the highest of all requests. A line or an answer can be up to 16 MiB,
      and all answers in progress together up to 24 MiB.

      Examples:
        authctl batch < requests.ndjson > answers.ndjson
        seq 100 | jq -c '{id:., url:"/items/\\(.)"}' | authctl batch --parallel 20
        authctl batch -p shop --fail-fast < orders.ndjson
      """
  ).alone

  @OptionGroup var options: BatchOptions
  @OptionGroup(title: "Global options") var globals: Globals

  static var preloads: Preload { [.session, .http] }

  func run(in app: App) throws(Failure) -> Int32 {
    try options.check()
    // A line never chooses the profile (rule A12).
    let choice = try app.choose()
    var http = try NetworkOptions.http(options.network, in: app)
    // -m limits each request, not the batch.
    http.totalTimeout = nil
    let keeper = try app.keeper(for: choice.profile, options: http)
    if options.network.insecure { app.console.insist("-k: the certificates are not verified") }
    return try BatchRun(app, options, choice, keeper).run()
  }
}
