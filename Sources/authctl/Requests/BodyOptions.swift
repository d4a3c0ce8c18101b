internal import ArgumentParser
internal import AuthKit
internal import Synchronization

/// The options for a request's body. The letters are curl's, except `--field`, `--raw-field` and
/// `--input`, which are from `gh api` (design 8).
struct BodyOptions: ParsableArguments {
  @Option(
    name: [.customShort("d", allowingJoined: true), .customLong("data")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Send form data, or @FILE without its line breaks.", valueName: "data"))
  var data: [OrderedArgument] = []

  @Option(
    name: .customLong("data-raw"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Send form data; @ has no special meaning.", valueName: "data"))
  var dataRaw: [OrderedArgument] = []

  @Option(
    name: .customLong("data-binary"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Send data, or @FILE, unchanged.", valueName: "data"))
  var dataBinary: [OrderedArgument] = []

  @Option(
    name: .customLong("data-urlencode"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Send URL-encoded form data: NAME=TEXT, NAME@FILE or TEXT.", valueName: "data"))
  var dataURLEncode: [OrderedArgument] = []

  @Option(
    name: .customLong("json"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Send a JSON body, or @FILE; authctl checks the JSON first.", valueName: "data"))
  var json: [String] = []

  @Option(
    name: .customLong("field"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Add a field to a JSON body or to a GET's query. true, false, null and integers keep their JSON type; @FILE reads the value from a file.",
      valueName: "name=value"))
  var field: [OrderedArgument] = []

  @Option(
    name: .customLong("raw-field"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Add a field, as --field does; the value is always a string.", valueName: "name=value"))
  var rawField: [OrderedArgument] = []

  @Option(
    name: [.customShort("F", allowingJoined: true), .customLong("form")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Add a part to a multipart form: text, @FILE or <FILE, with ;type= and ;filename=.",
      valueName: "name=value"))
  var form: [OrderedArgument] = []

  @Option(
    name: .customLong("form-string"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Add a part, as -F does; the value is always text.", valueName: "name=value")
  )
  var formString: [OrderedArgument] = []

  @Option(
    name: [.customShort("T", allowingJoined: true), .customLong("upload-file")],
    parsing: .unconditional,
    help: ArgumentHelp(
      "Send this file; its name is added to a target that ends with /. - is standard input.",
      valueName: "file"))
  var uploadFile: String?

  @Option(
    name: .customLong("input"), parsing: .unconditional,
    help: ArgumentHelp("Send this file as the body; - is standard input.", valueName: "file"))
  var input: String?

  @Flag(
    name: [.customShort("G"), .customLong("get")], help: "Send the data in the query of the URL.")
  var inQuery = false

  @Option(
    name: .customLong("url-query"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Add to the query, as --data-urlencode does; +TEXT is not encoded.", valueName: "data"))
  var urlQuery: [String] = []

  /// Returns the body that the options describe, for a request with `method`.
  ///
  /// - Parameter environment: names the folder in which a pipe's bytes may be kept.
  /// - Throws: `usage` for options that cannot be used together, a body where none is allowed, and
  ///   invalid JSON; `failed` for a file that cannot be read.
  func body(for method: String, _ environment: [String: String]) throws(Failure) -> RequestBody {
    let kind = try kind(for: method)
    var body = RequestBody()
    let files = BodyFiles(environment)
    var query = try queryData(files)
    switch kind {
    case .none: break
    case .data where inQuery:
      let data = try DataBody.sources(words, files)
      if query.count > 0, !data.isEmpty { query.append("&") }
      query.append(try DataBody.text(of: data))
    case .data: body.take(try DataBody.sources(words, files))
    case .json: body.content = try DataBody.json(json, files)
    case .field:
      let fields = try FieldBody(fieldWords, files)
      if isInQuery(method) {
        fields.write(intoQuery: &query)
      } else {
        body.content = fields.json
      }
    case .form: body.parts = try MultipartBody.parts(formWords, files)
    case .uploadFile:
      body.take([.file(try files.open(uploadFile ?? "", option: "-T", waits: false))])
      body.fileName = uploadFile.flatMap(DataBody.name)
    case .input:
      body.take([.file(try files.open(input ?? "", option: "--input"))])
      try FieldBody(fieldWords, files).write(intoQuery: &query)
    }
    if !(inQuery || kind == .field && isInQuery(method)) { body.type = kind?.contentType }
    body.wantsJSON = kind == .json
    body.query = query.secret().withBytes { String(decoding: $0, as: UTF8.self) }
    return body
  }

  // MARK: - Which body

  private enum Kind: String, CaseIterable {
    case data = "--data"
    case json = "--json"
    case field = "--field"
    case form = "-F"
    case uploadFile = "-T"
    case input = "--input"

    /// nil where libcurl sets it, or it is unknown.
    var contentType: String? {
      switch self {
      case .data: "application/x-www-form-urlencoded"
      case .json, .field, .input: "application/json"
      case .form, .uploadFile: nil
      }
    }
  }

  private func isGiven(_ kind: Kind) -> Bool {
    switch kind {
    case .data: !words.isEmpty
    case .json: !json.isEmpty
    case .field: !field.isEmpty || !rawField.isEmpty
    case .form: !form.isEmpty || !formString.isEmpty
    case .uploadFile: uploadFile != nil
    case .input: input != nil
    }
  }

  private func kind(for method: String) throws(Failure) -> Kind? {
    var given = Kind.allCases.filter(isGiven)
    // As in `gh api`, the fields go into the query when there is another body.
    if given.count == 2, given[0] == .field, given[1] == .input { given.removeFirst() }
    guard given.count < 2 else {
      throw Failure(.usage, "\(given[0].rawValue) and \(given[1].rawValue) cannot be used together")
    }
    guard let kind = given.first else { return nil }
    if inQuery, kind != .data, kind != .field {
      throw Failure(.usage, "-G and \(kind.rawValue) cannot be used together")
    }
    if ["GET", "HEAD"].contains(method), !inQuery, kind != .field {
      throw Failure(
        .usage, "a \(method) request cannot have a body",
        hint: kind == .data
          ? "use -G to send the data in the URL's query"
          : "to send a body, run: authctl post /PATH")
    }
    return kind
  }

  /// Returns whether the fields go into the query, as in `gh api` on GET.
  private func isInQuery(_ method: String) -> Bool {
    inQuery || ["GET", "HEAD"].contains(method)
  }

  private func queryData(_ files: BodyFiles) throws(Failure) -> SecretBuilder {
    var query = SecretBuilder()
    for text in urlQuery {
      if query.count > 0 { query.append("&") }
      if text.utf8.first == UInt8(ascii: "+") {
        query.append(String(text.dropFirst()))
      } else {
        query.append(try DataBody.encoded(text, option: "--url-query", files))
      }
    }
    return query
  }

  // MARK: - In the order of the command line

  private var words: [DataBody.Word] {
    inOrder([(data, .plain), (dataRaw, .raw), (dataBinary, .binary), (dataURLEncode, .encoded)])
  }

  private var fieldWords: [FieldBody.Word] { inOrder([(field, .typed), (rawField, .text)]) }

  private var formWords: [MultipartBody.Word] { inOrder([(form, .full), (formString, .text)]) }

  private func inOrder<Kind>(_ options: [([OrderedArgument], Kind)]) -> [(kind: Kind, text: String)]
  {
    options.flatMap { values, kind in values.map { (place: $0.place, kind: kind, text: $0.text) } }
      .sorted { $0.place < $1.place }.map { ($0.kind, $0.text) }
  }
}

/// A value and its place among all values. The parser sorts by option, but options that are used
/// together keep the order of the command line.
struct OrderedArgument: ExpressibleByArgument {
  let text: String
  let place: Int

  private static let read = Atomic<Int>(0)

  init(argument: String) {
    text = argument
    place = Self.read.wrappingAdd(1, ordering: .relaxed).newValue
  }
}
