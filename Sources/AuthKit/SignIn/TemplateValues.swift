/// The values that a recipe's placeholders stand for.
package struct TemplateValues {
  private var table: [Template.Name: SharedSecret] = [:]
  /// What `--field NAME=VALUE` gave, typed, in order.
  package var fields: [(name: String, value: JSONValue)] = []

  /// No values.
  package init() {}

  /// The value of a placeholder; nil where none is known, or where an empty one was set.
  package subscript(name: Template.Name) -> SharedSecret? {
    get { name == .unique ? SharedSecret(randomHex(bytes: 8)) : table[name] }
    set { table[name] = newValue }
  }

  /// The value of `{field.NAME}`.
  package func field(_ name: Template.Name) -> JSONValue? {
    fields.first { Template.Name.field($0.name) == name }?.value
  }

  /// Names and values that are set, fields not among them.
  package var all: [(name: Template.Name, value: SharedSecret)] {
    table.map { ($0.key, $0.value) }.sorted { $0.name.description < $1.name.description }
  }

  /// Takes every value of `other`, over its own.
  package mutating func merge(_ other: TemplateValues) {
    table.merge(other.table) { $1 }
    fields += other.fields
  }

  /// Only what `isIncluded` wants.
  package func filtered(_ isIncluded: (Template.Name) -> Bool) -> TemplateValues {
    var kept = self
    kept.table = table.filter { isIncluded($0.key) }
    return kept
  }
}

extension Template.Name {
  /// Whether a person gave the value (so that a bad one is a usage error) or a server did.
  var isPersonal: Bool {
    isField || [.username, .password, .otp, .appKey, .clientSecret].contains(self)
  }

  /// How to give a value that is missing.
  var wayToGive: String {
    switch self {
    case .username: "-u NAME gives the account"
    case .password: "--password-stdin, --password-file F, --password-command C, AUTHCTL_PASSWORD"
    case .otp: "--otp-stdin, --otp-file F, --otp-command C, AUTHCTL_OTP"
    case .appKey: "--app-key-stdin, --app-key-file F, --app-key-command C, AUTHCTL_APP_KEY"
    case .clientSecret:
      "--client-secret-stdin, --client-secret-file F, --client-secret-command C, "
        + Variable.clientSecret.rawValue
    default:
      isField ? "--field \(description.dropFirst(6))=VALUE" : "authctl login gets it"
    }
  }
}
