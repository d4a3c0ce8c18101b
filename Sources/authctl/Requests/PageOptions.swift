internal import ArgumentParser
internal import AuthKit

/// The options for answers in pages (design 8).
struct PageOptions: ParsableArguments {
  @Flag(help: "Fetch all pages of a list, following Link or --next.")
  var paginate = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Read the URL of the next page from this place: /next.", valueName: "pointer"))
  var next: String?

  @Option(
    name: .customLong("next-cursor"), parsing: .unconditional,
    help: ArgumentHelp(
      "Send this value of a page in the query for the next: /meta/cursor=cursor.",
      valueName: "pointer=name"))
  var nextCursor: String?

  @Flag(help: "Print one array of all pages; they are kept in memory until the end.")
  var slurp = false

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Print the elements of this array, one JSON value per line.", valueName: "pointer"))
  var each: String?

  @Option(
    name: .customLong("max-pages"), parsing: .unconditional,
    help: ArgumentHelp("Stop after N pages.", valueName: "n"))
  var maximumPages: Int?

  @Option(
    name: .customLong("max-items"), parsing: .unconditional,
    help: ArgumentHelp("Stop after N elements of --each.", valueName: "n"))
  var maximumItems: Int?

  /// Whether answers are read whole, not passed through as they arrive.
  var isWanted: Bool { paginate || each != nil }

  /// Checks that the options can be used together.
  ///
  /// - Throws: `usage`.
  func check(method: String, _ output: OutputOptions) throws(Failure) {
    if paginate, method != "GET" { throw Failure(.usage, "--paginate requires GET") }
    if each != nil, method == "HEAD" { throw Self.noBody() }
    let needingPages = [
      ("--slurp", slurp), ("--next", next != nil), ("--next-cursor", nextCursor != nil),
      ("--max-pages", maximumPages != nil),
    ]
    for (name, isThere) in needingPages where isThere && !paginate {
      throw Failure(.usage, "\(name) requires --paginate")
    }
    if slurp, output.filter != nil {
      throw Failure(.usage, "--slurp and --jq cannot be used together")
    }
    if maximumItems != nil, each == nil { throw Failure(.usage, "--max-items requires --each") }
    if slurp, each != nil { throw Failure(.usage, "--slurp and --each cannot be used together") }
    if slurp, output.include { throw Failure(.usage, "--slurp and -i cannot be used together") }
    if each != nil, !output.pointer.isEmpty {
      throw Failure(.usage, "--each and --pointer cannot be used together")
    }
    if isWanted, output.writeOut != nil {
      throw Failure(.usage, "-w cannot be used with --paginate or --each")
    }
    if next != nil, nextCursor != nil {
      throw Failure(.usage, "--next and --next-cursor cannot be used together")
    }
    for (name, number) in [("--max-pages", maximumPages), ("--max-items", maximumItems)] {
      if let number, number < 1 { throw Failure(.usage, "\(name) must be 1 or more") }
    }
    if let each, !JSONValue.isPointer(each) {
      throw Failure(.usage, "--each is not a JSON Pointer", hint: "--each /items, or '' for all")
    }
    _ = try place(in: .usual)
  }

  static func noBody() -> Failure { Failure(.usage, "the answer to HEAD has no body") }

  /// Returns where an answer names the next page: by these options, else by the recipe.
  ///
  /// - Throws: `usage` for an invalid JSON Pointer.
  func place(in recipe: NextPage) throws(Failure) -> NextPage {
    if let next {
      guard let place = NextPage(pointer: next) else {
        throw Failure(.usage, "--next is not a JSON Pointer", hint: "--next /links/next")
      }
      return place
    }
    if let nextCursor {
      guard let place = NextPage(cursor: nextCursor) else {
        throw Failure(
          .usage, "--next-cursor is not POINTER=NAME", hint: "--next-cursor /meta/cursor=cursor")
      }
      return place
    }
    return recipe
  }
}
