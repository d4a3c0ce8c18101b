/// The environment variables of authctl, and systemd's variable for a folder of credentials.
package enum Variable: String, CaseIterable {
  case profile = "AUTHCTL_PROFILE"
  case url = "AUTHCTL_URL"
  case username = "AUTHCTL_USERNAME"
  case store = "AUTHCTL_STORE"
  case noInput = "AUTHCTL_NO_INPUT"
  case trust = "AUTHCTL_TRUST"
  case errors = "AUTHCTL_ERRORS"
  case configFolder = "AUTHCTL_CONFIG_DIR"
  case stateFolder = "AUTHCTL_STATE_DIR"

  case password = "AUTHCTL_PASSWORD"
  case otp = "AUTHCTL_OTP"
  case clientSecret = "AUTHCTL_CLIENT_SECRET"
  case appKey = "AUTHCTL_APP_KEY"
  case subjectToken = "AUTHCTL_SUBJECT_TOKEN"
  case proxyUser = "AUTHCTL_PROXY_USER"
  case token = "AUTHCTL_TOKEN"
  /// Any `AUTHCTL_TOKEN_FOR_…`.
  case tokenForName = "AUTHCTL_TOKEN_FOR_NAME"
  case storePassphrase = "AUTHCTL_STORE_PASSPHRASE"

  case tokenFile = "AUTHCTL_TOKEN_FILE"
  case tokenFolder = "AUTHCTL_TOKEN_DIR"
  case storeKeyFile = "AUTHCTL_STORE_KEY_FILE"
  case credentialsFolder = "CREDENTIALS_DIRECTORY"

  /// The variable `name`. A name that begins like a token's variable counts as one.
  package init?(named name: String) {
    if let known = Variable(rawValue: name) {
      self = known
    } else if name.utf8.starts(with: Variable.token.rawValue.utf8) {
      self = .tokenForName
    } else {
      return nil
    }
  }

  /// Whether its value is a secret.
  package var isSecret: Bool {
    switch self {
    case .password, .otp, .clientSecret, .appKey, .subjectToken, .proxyUser, .token,
      .tokenForName, .storePassphrase:
      true
    default: false
    }
  }

  /// Whether programs that authctl starts do not inherit it, because it is or locates a secret.
  package var isWithheld: Bool {
    switch self {
    case .tokenFile, .tokenFolder, .storeKeyFile, .credentialsFolder: true
    default: isSecret
    }
  }

  /// Whether it supplies a token.
  package var isToken: Bool { self == .token || self == .tokenForName || self == .tokenFile }

  /// Returns the variable that supplies the token of the profile `name`.
  package static func token(of name: String) -> String {
    let name = name.utf8.map { byte in
      byte.isLetter ? byte & 0xDF : byte.isDigit ? byte : UInt8(ascii: "_")
    }
    return "AUTHCTL_TOKEN_FOR_" + String(decoding: name, as: UTF8.self)
  }

  /// Whether `name` begins like authctl's variables, even if authctl does not read it.
  package static func isOwn(_ name: String) -> Bool { name.utf8.starts(with: "AUTHCTL_".utf8) }
}

extension [String: String] {
  /// The value of `variable`; nil if it is empty.
  package subscript(variable: Variable) -> String? {
    get { self[variable.rawValue].flatMap { $0.isEmpty ? nil : $0 } }
    set { self[variable.rawValue] = newValue }
  }

  /// The environment for other programs, without authctl's secrets and their places.
  package var withoutSecrets: [String: String] {
    filter { Variable(named: $0.key)?.isWithheld != true }
  }
}
