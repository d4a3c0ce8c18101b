internal import AuthKit

/// A curl command line that sends what authctl would send. It does not hold the credential, which
/// `authctl helper curl-config` supplies when the line runs.
struct AsCurl {
  let app: App
  let choice: ProfileChoice
  let options: RequestOptions
  let network: NetworkOptions?

  /// The longest argument of execve(2): MAX_ARG_STRLEN, less the closing NUL.
  private static let longestWord = 131_071

  /// Returns the command line, and the names of what is masked in it.
  ///
  /// - Throws: `usage` for a request that no command line can express.
  func line(of outline: RequestOutline) throws(Failure) -> (text: String, masked: [String]) {
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
    words += route(outline.request.url) + output + method(outline.request)
    for header in outline.headers {
      switch header.value {
      case .session: continue
      // curl adds Expect only for large bodies, and those do not fit on a command line.
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
    for part in outline.request.parts {
      let partWords = part.curlWords
      let shown = app.redactor.mask(partWords[1])
      if shown != partWords[1] { masked.append("the body") }
      line += [partWords[0], shown].map(Self.bytes)
    }
    if let path = Self.file(outline.request) {
      // With -T, curl sends Expect, however short the file is.
      line += ((outline.request.isLong ? [] : ["-H", "Expect:"]) + ["-T", path]).map(Self.bytes)
    } else if let body = try outline.request.wholeBody() {
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
      throw Failure(
        .usage, "--as-curl: the body contains a NUL byte, which an argument cannot contain")
    }
    guard body.count <= longestWord else {
      throw Failure(.usage, "--as-curl: the body is larger than 128 KiB, the limit of an argument")
    }
    return body
  }

  private func helperWords(_ method: String, _ url: String) throws(Failure) -> [String] {
    let profile = choice.profile
    guard profile.file != nil else {
      throw Failure(
        .usage, "--as-curl requires a profile; AUTHCTL_URL is not one",
        hint: "authctl profile add NAME \(choice.profile.url)")
    }
    guard !profile.recipe.session.keepPassword, profile.recipe.request.isOneHeader(for: method)
    else {
      throw Failure(
        .usage,
        "--as-curl does not support the session of \(profile.name): it "
          + (profile.recipe.session.keepPassword
            ? "is a password"
            : profile.recipe.request.carryingParameters.isEmpty
              ? "needs more than one header" : "is in a parameter of the URL"),
        hint: "use --dry-run to print the request")
    }
    var words = ["authctl", "helper", "curl-config", "-p", profile.name]
    if let name = app.globals.username { words += ["-u", name] }
    if let store = app.globals.store { words += ["--store", store] }
    return words + [url]
  }

  /// curl-config prints `max-redirs = 0`: only an anonymous line follows redirects.
  private func redirects(_ method: String) -> [String] {
    guard options.location || method == "GET" || method == "HEAD" else { return [] }
    return ["-L", "--max-redirs", "\(options.maximumRedirects)"]
  }

  private func route(_ url: WebURL) -> [String] {
    var words = network?.curlWords ?? []
    for (option, value) in choice.profile.recipe.curlWords where !words.contains(option) {
      words += [option, value]
    }
    // Plain HTTP goes only to this machine, and never through a proxy (rule A7).
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

  /// Returns the file that is the whole body; curl reads it itself, whatever its length.
  private static func file(_ request: WireRequest) -> String? {
    guard let sources = request.upload?.sources, sources.count == 1,
      case .file(let file) = sources[0], file.isWhole
    else { return nil }
    return file.path
  }

  private func method(_ request: WireRequest) -> [String] {
    let usual = Self.file(request) != nil ? "PUT" : request.hasBody ? "POST" : "GET"
    if request.method == "HEAD", !request.hasBody { return ["--head"] }
    return request.method == usual ? [] : ["-X", request.method]
  }
}

extension NetworkOptions {
  /// The same settings as curl options; curl asks for passphrases and a proxy's password.
  var curlWords: [String] {
    let flags: [(String, Bool)] = [
      ("-k", insecure), ("--tlsv1.2", atLeastTLS12), ("--tlsv1.3", atLeastTLS13),
      ("--http1.1", http1), ("--http2", http2), ("-4", ipv4), ("-6", ipv6),
      ("--compressed", compressed),
    ]
    let values: [(String, String?)] = [
      ("--cacert", authorities), ("--capath", authorityFolder), ("--cert", certificate),
      ("--key", key), ("--pinnedpubkey", pinnedKey), ("-x", proxy), ("--noproxy", noProxy),
      ("--unix-socket", unixSocket), ("--connect-timeout", connectTimeout.map(Self.number)),
      ("-m", maximumTime.map(Self.number)),
    ]
    var words: [String] = []
    for (name, value) in values { if let value { words += [name, value] } }
    for (name, isGiven) in flags where isGiven { words.append(name) }
    for value in resolve { words += ["--resolve", value] }
    for value in connectTo { words += ["--connect-to", value] }
    return words
  }

  private static func number(_ time: Duration) -> String {
    JSONValue.number(time.seconds).serialized()
  }
}
