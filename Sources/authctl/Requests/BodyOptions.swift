internal import ArgumentParser
internal import AuthKit
internal import Synchronization

/// The options that give a request its body; the letters are curl's, but for `--field`,
/// `--raw-field` and `--input`, which are those of `gh api` (design 8).
struct BodyOptions: ParsableArguments {
  @Option(
    name: [.customShort("d", allowingJoined: true), .customLong("data")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A form's data, or @FILE without its line ends.", valueName: "data"))
  var data: [OrderedArgument] = []

  @Option(
    name: .customLong("data-raw"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("The same; @ has no meaning.", valueName: "data"))
  var dataRaw: [OrderedArgument] = []

  @Option(
    name: .customLong("data-binary"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("The same; @FILE byte for byte.", valueName: "data"))
  var dataBinary: [OrderedArgument] = []

  @Option(
    name: .customLong("data-urlencode"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("Encoded for a form: NAME=TEXT, NAME@FILE, TEXT.", valueName: "data"))
  var dataURLEncode: [OrderedArgument] = []

  @Option(
    name: .customLong("json"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("A JSON body, or @FILE; it is checked first.", valueName: "data"))
  var json: [String] = []

  @Option(
    name: .customLong("field"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "A field of a JSON body, or of a GET's query; true, false, null, integers and @FILE are told.",
      valueName: "name=value"))
  var field: [OrderedArgument] = []

  @Option(
    name: .customLong("raw-field"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("The same; the value is text.", valueName: "name=value"))
  var rawField: [OrderedArgument] = []

  @Option(
    name: [.customShort("F", allowingJoined: true), .customLong("form")],
    parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "A part of a multipart form: text, @FILE or <FILE, with ;type= and ;filename=.",
      valueName: "name=value"))
  var form: [OrderedArgument] = []

  @Option(
    name: .customLong("form-string"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp("The same; the value is text.", valueName: "name=value"))
  var formString: [OrderedArgument] = []

  @Option(
    name: [.customShort("T", allowingJoined: true), .customLong("upload-file")],
    parsing: .unconditional,
    help: ArgumentHelp(
      "Send this file; a TARGET/ gets its name. - is standard input.",
      valueName: "file"))
  var uploadFile: String?

  @Option(
    name: .customLong("input"), parsing: .unconditional,
    help: ArgumentHelp("The body is this file; - is standard input.", valueName: "file"))
  var input: String?

  @Flag(
    name: [.customShort("G"), .customLong("get")], help: "The data becomes the URL's query.")
  var inQuery = false

  @Option(
    name: .customLong("url-query"), parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "More for the query, as --data-urlencode; +TEXT as it is.", valueName: "data"))
  var urlQuery: [String] = []

  /// What the options stand for, for a request of `method`.
  ///
  /// - Parameter environment: for the folder in which a pipe's bytes may be kept.
  /// - Throws: `usage` for options that exclude each other, a body where none can be, and JSON that
  ///   is none; `failed` for a file that cannot be read.
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

    /// None where libcurl says it, or nobody knows.
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
    // As `gh api` does it: beside a body, the fields are for the query.
    if given.count == 2, given[0] == .field, given[1] == .input { given.removeFirst() }
    guard given.count < 2 else {
      throw Failure(.usage, "\(given[0].rawValue) and \(given[1].rawValue) exclude each other")
    }
    guard let kind = given.first else { return nil }
    if inQuery, kind != .data, kind != .field {
      throw Failure(.usage, "-G goes with --data or --field, not with \(kind.rawValue)")
    }
    if ["GET", "HEAD"].contains(method), !inQuery, kind != .field {
      throw Failure(
        .usage, "a \(method) has no body",
        hint: kind == .data
          ? "-G puts the data into the URL's query" : "authctl post, put or patch sends one")
    }
    return kind
  }

  /// Where a request has no body the fields are for the query, as `gh api` has it on GET.
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

/// A value, and how many were read before it: the parser reads in the order of the command line
/// and sorts by option, but what several options give together has an order too.
struct OrderedArgument: ExpressibleByArgument {
  let text: String
  let place: Int

  private static let read = Atomic<Int>(0)

  init(argument: String) {
    text = argument
    place = Self.read.wrappingAdd(1, ordering: .relaxed).newValue
  }
}
