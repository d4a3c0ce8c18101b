internal import ArgumentParser
internal import AuthKit

/// The options that give one secret; `Names` says which (design 4).
protocol SecretNames {
  static var kind: SecretKind { get }
}

/// `--STEM-stdin`, `--STEM-file`, `--STEM-fd`, `--STEM-command`.
struct SecretOptions<Names: SecretNames>: ParsableArguments {
  @Flag(
    name: .customLong(Names.kind.stem + "-stdin"),
    help: "Read the \(Names.kind.name) from a line of standard input.")
  var fromStdin = false

  @Option(
    name: .customLong(Names.kind.stem + "-file"), parsing: .unconditional,
    help: ArgumentHelp(
      "Read the \(Names.kind.name) from the first line of FILE.", valueName: "file"))
  var file: String?

  @Option(
    name: .customLong(Names.kind.stem + "-fd"), parsing: .unconditional,
    help: ArgumentHelp(
      "Read the \(Names.kind.name) from file descriptor N.", valueName: "n"))
  var descriptor: Int32?

  @Option(
    name: .customLong(Names.kind.stem + "-command"), parsing: .unconditional,
    help: ArgumentHelp(
      "Run CMD and read the \(Names.kind.name) from its first line.", valueName: "cmd"))
  var command: String?

  /// The options in the form that `SecretReader` takes.
  var source: SecretSource {
    SecretSource(
      kind: Names.kind, fromStdin: fromStdin, file: file, descriptor: descriptor, command: command)
  }
}

enum PasswordNames: SecretNames { static var kind: SecretKind { .password } }

enum OTPNames: SecretNames { static var kind: SecretKind { .otp } }

enum ClientSecretNames: SecretNames { static var kind: SecretKind { .clientSecret } }

enum AppKeyNames: SecretNames { static var kind: SecretKind { .appKey } }

enum TokenNames: SecretNames { static var kind: SecretKind { .token } }

enum SubjectTokenNames: SecretNames { static var kind: SecretKind { .subjectToken } }

enum RefreshTokenNames: SecretNames { static var kind: SecretKind { .refreshToken } }

/// The credential options of `login` and `register`.
struct CredentialOptions: ParsableArguments {
  @OptionGroup(title: "Password") var password: SecretOptions<PasswordNames>
  @OptionGroup(title: "One-time code") var otp: SecretOptions<OTPNames>
  @OptionGroup(title: "Client secret") var clientSecret: SecretOptions<ClientSecretNames>
  @OptionGroup(title: "Application key") var appKey: SecretOptions<AppKeyNames>

  @Option(
    name: .long, parsing: .unconditionalSingleValue,
    help: ArgumentHelp(
      "Add a field. true, false, null and integers keep their JSON type; @FILE reads the value from a file.",
      valueName: "name=value"))
  var field: [String] = []

  /// The options in the form that `SecretReader` takes.
  var sources: [SecretSource] {
    [password.source, otp.source, clientSecret.source, appKey.source]
  }
}
