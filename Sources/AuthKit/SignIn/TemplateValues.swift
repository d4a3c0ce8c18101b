/// The values of a recipe's placeholders.
package struct TemplateValues {
  private var table: [Template.Name: SharedSecret] = [:]
  /// The typed values of `--field NAME=VALUE`, in order.
  package var fields: [(name: String, value: JSONValue)] = []

  /// Creates an empty table.
  package init() {}

  /// The value of a placeholder; nil if unknown, or if an empty one was set.
  package subscript(name: Template.Name) -> SharedSecret? {
    get { name == .unique ? SharedSecret(randomHex(bytes: 8)) : table[name] }
    set { table[name] = newValue }
  }

  /// Returns the value of `{field.NAME}`.
  package func field(_ name: Template.Name) -> JSONValue? {
    fields.first { Template.Name.field($0.name) == name }?.value
  }

  /// The names and values that are set, without the fields.
  package var all: [(name: Template.Name, value: SharedSecret)] {
    table.map { ($0.key, $0.value) }.sorted { $0.name.description < $1.name.description }
  }

  /// Adds every value of `other`, replacing its own.
  package mutating func merge(_ other: TemplateValues) {
    table.merge(other.table) { $1 }
    fields += other.fields
  }

  /// Returns only the values whose names `isIncluded` accepts, and all fields.
  package func filtered(_ isIncluded: (Template.Name) -> Bool) -> TemplateValues {
    var kept = self
    kept.table = table.filter { isIncluded($0.key) }
    return kept
  }
}

extension Template.Name {
  /// Whether the user gave the value (a bad one is a usage error) or a server did.
  var isPersonal: Bool {
    isField || [.username, .password, .otp, .appKey, .clientSecret].contains(self)
  }

  /// How to give a missing value.
  package var wayToGive: String {
    switch self {
    case .username: "give the account with -u NAME"
    case .password:
      "use --password-stdin, --password-file F, --password-command C or AUTHCTL_PASSWORD"
    case .otp: "use --otp-stdin, --otp-file F, --otp-command C or AUTHCTL_OTP"
    case .appKey: "use --app-key-stdin, --app-key-file F, --app-key-command C or AUTHCTL_APP_KEY"
    case .clientSecret:
      "use --client-secret-stdin, --client-secret-file F, --client-secret-command C or "
        + Variable.clientSecret.rawValue
    default:
      isField ? "use --field \(description.dropFirst(6))=VALUE" : "sign in again to get it"
    }
  }
}
