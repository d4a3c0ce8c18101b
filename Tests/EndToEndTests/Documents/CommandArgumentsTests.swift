import ArgumentParser
import AuthKit
import Testing

@testable import authctl

/// What completion reads in the parser's help is what the parser has.
@Suite struct CommandArgumentsTests {
  private static func leaves(
    _ command: any ParsableCommand.Type
  ) -> [any ParsableArguments.Type] {
    let below = command.configuration.subcommands
    return below.isEmpty ? [command] : below.flatMap(leaves)
  }

  private static func elements(_ json: JSON?) -> [JSON] {
    if case .array(let elements)? = json { elements } else { [] }
  }

  private static func names(_ item: JSON) -> [String] {
    elements(item["names"]).map { name in
      let dashes = name["kind"]?.string == "long" ? "--" : "-"
      return dashes + (name["name"]?.string ?? "")
    }
  }

  @Test func helpHasAllArguments() throws {
    var count = 0
    for type in Self.leaves(Authctl.self) + [Globals.self] {
      let arguments = CommandArguments(of: type)
      let all = arguments.positionals + arguments.options
      let shown = Set(arguments.shownOptions.flatMap(\.names))
      let dump = try JSON(parsing: type._dumpHelp())
      for item in Self.elements(dump["command"]?["arguments"]) {
        let names = Self.names(item)
        let kind = item["kind"]?.string ?? ""
        let value = item["valueName"]?.string ?? ""
        let said: Comment = "\(type) \(names) \(value)"
        let read = try #require(
          all.first { names.isEmpty ? $0.valueName == value : Set($0.names) == Set(names) }, said)
        count += 1
        #expect(read.takesValue == (kind == "option"), said)
        #expect(read.names.isEmpty == (kind == "positional"), said)
        if kind != "flag" { #expect(read.valueName == value, said) }
        if kind == "positional" {
          // Completion knows exec by its name: its usage is written by hand.
          guard type != Exec.self else { continue }
          #expect(read.isRepeating == (item["isRepeating"] == true), said)
        } else {
          #expect(shown.isDisjoint(with: names) == (item["shouldDisplay"] == false), said)
        }
        #expect(read.summary == item["abstract"]?.string ?? "", said)
        #expect(read.values == Self.elements(item["allValues"]).compactMap(\.string), said)
      }
    }
    #expect(count > 500)
  }
}
