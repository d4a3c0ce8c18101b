internal import AuthKit

/// The output forms of a profile, for people and programs.
enum ProfileText {
  static func json(of profile: Profile) -> JSONValue {
    JSONValue.object([
      ("name", .string(profile.name)),
      ("file", profile.file.map { .string($0) } ?? nil),
      (
        "values",
        .array(
          profile.values.map {
            .object([
              ("key", .string($0.key)), ("value", $0.value), ("source", .string(source($0.source))),
            ])
          })
      ),
    ])
  }

  static func source(_ source: EffectiveValue.Source) -> String {
    switch source {
    case .builtIn: "built in"
    case .preset(let name): "preset \(name)"
    case .file: "profile"
    }
  }

  /// Returns a value as TOML on one line: JSON except for tables.
  static func toml(_ value: JSONValue) -> String {
    switch value {
    case .object(let members):
      members.isEmpty
        ? "{}"
        : "{ " + members.map { "\(key($0.key)) = \(toml($0.value))" }.joined(separator: ", ") + " }"
    case .array(let items): "[" + items.map(toml).joined(separator: ", ") + "]"
    default: value.serialized()
    }
  }

  private static func key(_ name: String) -> String {
    let isBare = name.utf8.allSatisfy { HeaderSyntax.isToken([$0]) && $0 != 0x2E && $0 != 0x27 }
    return isBare && !name.isEmpty ? name : JSONValue.string(name).serialized()
  }
}
