internal import AuthKit

/// A line of curl that sends what authctl would send. Its credential comes from
/// `authctl helper curl-config` when the line is run, and is not in it.
struct AsCurl {
  let app: App
  let choice: Choice
  let options: RequestOptions

  /// What the kernel takes as one argument: MAX_ARG_STRLEN of execve(2), less the closing NUL.
  private static let longestWord = 131_071

  /// The line, and what is masked in it.
  ///
  /// - Throws: `usage` for a request that no such line can stand for.
  func line(of outline: Outline) throws(Failure) -> (text: String, masked: [String]) {
    var masked: [String] = []
    let url = app.redactor.mask(Redactor.maskedQuery(outline.request.url.text))
    if url != outline.request.url.text { masked.append("the URL") }
    var words = ["curl"]
    var helper = ""
    if options.anonymous {
      words += ["--globoff"] + redirects(outline.request.method)
    } else {
      helper = DisplayText.shellLine(try helperWords(outline.request.method, url).map(Self.bytes))
      helper += " | "
      words += ["-K", "-", "--globoff"]
    }
    words += network(outline.request.url) + output + method(outline.request)
    for header in outline.headers {
      switch header.value {
      case .session: continue
      // curl's own habit with large bodies, which no command line holds.
      case .removed where header.name.lowercased() == "expect": continue
      case .removed: words += ["-H", header.name + ":"]
      case .personal:
        words += ["-H", header.name + ": ***"]
        masked.append(header.name)
      case .text(""): words += ["-H", header.name + ";"]
      case .text(let value):
        let shown = app.redactor.mask(value)
        if shown != value { masked.append(header.name) }
        words += ["-H", "\(header.name): \(shown)"]
      }
    }
    var line = words.map(Self.bytes)
    if let body = outline.request.body {
      let (shown, isMasked) = DryRun.masked(body, app.redactor)
      if isMasked { masked.append("the body") }
      line += [Self.bytes("--data-raw"), try Self.argument(shown)]
    }
    if options.anonymous { line.append(Self.bytes(url)) }
    return (helper + DisplayText.shellLine(line), masked)
  }

  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  private static func argument(_ body: [UInt8]) throws(Failure) -> [UInt8] {
    guard !body.contains(0) else {
      throw Failure(.usage, "--as-curl: the body holds a NUL byte, which no argument can")
    }
    guard body.count <= longestWord else {
      throw Failure(.usage, "--as-curl: the body is longer than an argument may be (128 KiB)")
    }
    return body
  }

  private func helperWords(_ method: String, _ url: String) throws(Failure) -> [String] {
    let profile = choice.profile
    guard profile.file != nil else {
      throw Failure(
        .usage, "--as-curl: authctl helper curl-config needs a profile, and AUTHCTL_URL is none",
        hint: "authctl profile add NAME --url URL makes one")
    }
    guard !profile.recipe.session.keepPassword, profile.recipe.request.isOneHeader(for: method)
    else {
      throw Failure(
        .usage,
        "--as-curl: curl cannot be given what carries a session of \(profile.name): "
          + (profile.recipe.session.keepPassword
            ? "a password" : "more than one header with the token"),
        hint: "--dry-run shows the request")
    }
    var words = ["authctl", "helper", "curl-config", "-p", profile.name]
    if let name = app.globals.username { words += ["-u", name] }
    if let store = app.globals.store { words += ["--store", store] }
    return words + [url]
  }

  /// curl-config says `max-redirs = 0`, and nothing of following any.
  private func redirects(_ method: String) -> [String] {
    guard options.location || method == "GET" || method == "HEAD" else { return [] }
    return ["-L", "--max-redirs", "\(options.maximumRedirects)"]
  }

  private func network(_ url: WebURL) -> [String] {
    var words = options.network.curlWords
    for (option, value) in choice.profile.recipe.curlWords where !words.contains(option) {
      words += [option, value]
    }
    // What goes in clear goes to this machine, and to no proxy (rule A7).
    if !url.origin.isSecure, !words.contains("-x") { words += ["--noproxy", "*"] }
    let hasDots = "\(url.path)/".utf8.split(separator: UInt8(ascii: "/")).contains { segment in
      [".", "..", "%2e", "%2e%2e", ".%2e", "%2e."]
        .contains(String(decoding: segment, as: UTF8.self).lowercased())
    }
    return words + (hasDots ? ["--path-as-is"] : [])
  }

  private var output: [String] {
    let output = options.output
    var words: [String] = []
    if output.include { words.append("-i") }
    if let file = output.dumpHeader { words += ["-D", file] }
    if let file = output.file { words += ["-o", file] }
    if let format = output.writeOut { words += ["-w", format] }
    return words
  }

  private func method(_ request: WireRequest) -> [String] {
    let usual = request.body == nil ? "GET" : "POST"
    if request.method == "HEAD", request.body == nil { return ["--head"] }
    return request.method == usual ? [] : ["-X", request.method]
  }
}

extension NetworkOptions {
  /// The same in options of curl.
  var curlWords: [String] {
    var words: [String] = []
    if insecure { words.append("-k") }
    if let authorities { words += ["--cacert", authorities] }
    if let connectTimeout { words += ["--connect-timeout", Self.number(connectTimeout)] }
    if let maximumTime { words += ["-m", Self.number(maximumTime)] }
    if compressed { words.append("--compressed") }
    return words
  }

  private static func number(_ time: Duration) -> String {
    JSONValue.number(time.seconds).serialized()
  }
}
