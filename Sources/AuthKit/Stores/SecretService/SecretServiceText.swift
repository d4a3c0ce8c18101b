internal import Glibc

extension Failure {
  /// The keyring has the item, or would store it, and is locked.
  ///
  /// - Parameters:
  ///   - isAttended: whether a user could be asked.
  ///   - takesPassword: whether `store unlock` can give it a password.
  static func keyringLocked(
    _ service: String, collection: String?, isAttended: Bool, takesPassword: Bool
  ) -> Failure {
    let hint =
      if isAttended {
        Suggestion.unlockStore.command
      } else if takesPassword {
        "authctl store unlock --password-stdin"
      } else {
        "unlock it in the desktop session, or use AUTHCTL_STORE=file"
      }
    let place = collection.map { ", collection \"\(keyringText($0))\"" } ?? ""
    return Failure(
      .storeLocked, "the keyring is locked (\(service)\(place))", hint: hint)
  }

  /// The user closed the dialog, or the service could not show one.
  static func keyringDismissed() -> Failure {
    Failure(.storeLocked, "the keyring stayed locked: its dialog was dismissed")
  }

  /// The user, or the service if it cannot show a dialog, refused a change in an unlocked
  /// collection.
  static func keyringRefused(_ service: String) -> Failure {
    Failure(.storeLocked, "the keyring (\(service)) was not changed: its dialog was dismissed")
  }

  /// The collection is unlocked, and the service asks its user before it returns the item.
  static func keyringAsks(_ service: String, collection: String?) -> Failure {
    let place = collection.map { ", collection \"\(keyringText($0))\"" } ?? ""
    return Failure(
      .storeLocked, "the keyring asks before it returns a session (\(service)\(place))",
      hint: "allow programs to read without confirmation in its settings (README, Keyrings)")
  }

  /// There is no collection for items, or none of several is the default.
  ///
  /// - Parameter mayAsk: whether the service could ask its user for the password of a new one.
  static func keyringNotThere(
    _ program: SecretServiceProgram, hasOthers: Bool, mayAsk: Bool
  ) -> Failure {
    let hint =
      if hasOthers {
        "choose one in seahorse or KeePassXC"
      } else if mayAsk {
        "to create one, run: authctl store unlock"
      } else if program == .gnomeKeyring {
        // Remove the line end, which would be part of the password. The running daemon accepts no
        // password for its first keyring, so another replaces it.
        #"tr -d '\n' <FILE | gnome-keyring-daemon -r --unlock -c secrets"#
      } else {
        "create one in the desktop session, or use AUTHCTL_STORE=file"
      }
    return Failure(
      .storeMissing, "the keyring (\(program.name)) has no default collection", hint: hint)
  }

  /// The given password is not that of the collection.
  static func keyringPasswordWrong(_ service: String, collection: String?) -> Failure {
    let place = collection.map { ", collection \"\(keyringText($0))\"" } ?? ""
    return Failure(
      .storeLocked, "the keyring stayed locked: wrong password (\(service)\(place))")
  }

  /// The service offers no encryption: a password is not sent without it (rule C11).
  static func busIsPlain(_ service: String) -> Failure {
    Failure(
      .storeMissing,
      "refused to send the password: \(service) does not support encryption on the bus",
      hint: "to use its own dialog, run: authctl store unlock")
  }

  /// No one answered the dialog.
  static func keyringPromptTimeout(seconds: Double) -> Failure {
    Failure(
      .storeTimeout,
      "the keyring stayed locked: its dialog got no answer within \(keyringSeconds(seconds))",
      suggestion: .unlockStore)
  }

  /// No program owns org.freedesktop.secrets, and the bus cannot start one.
  static func noSecretService() -> Failure {
    var failure = Failure(
      .storeMissing, "no Secret Service on this bus (org.freedesktop.secrets)",
      hint: "apt install gnome-keyring, or use AUTHCTL_STORE=file (see authctl help ci)")
    failure.isStoreAbsent = true
    return failure
  }

  /// No address is set, and this user has no bus at the usual place.
  static func noBus() -> Failure {
    var failure = Failure(
      .storeMissing, "no D-Bus session: DBUS_SESSION_BUS_ADDRESS is not set",
      hint: "use AUTHCTL_TOKEN or AUTHCTL_STORE=file (see authctl help ci)")
    failure.isStoreAbsent = true
    return failure
  }

  /// An address that would send secrets off this machine or start a program.
  static func busNotLocal(_ address: String) -> Failure {
    Failure(
      .storeMissing,
      "refused the D-Bus session at \(keyringAddress(address)): only unix: addresses are allowed",
      hint: "set DBUS_SESSION_BUS_ADDRESS to unix:path=..., or use AUTHCTL_STORE=file")
  }

  /// The address is valid, but no bus answers.
  static func busUnreachable(_ address: String, _ words: String) -> Failure {
    Failure(
      .storeMissing, "no D-Bus session at \(keyringAddress(address)): \(keyringText(words))",
      hint: "use AUTHCTL_TOKEN or AUTHCTL_STORE=file (see authctl help ci)")
  }

  /// dlopen(3) or dlsym(3) did not find it.
  static func keyringLibraryMissing(_ words: String) -> Failure {
    var failure = Failure(
      .storeMissing, "libsecret cannot be loaded: \(keyringText(words))",
      hint: "apt install libsecret-1-0")
    failure.isStoreAbsent = words.contains(bytesOf: "No such file")
    return failure
  }

  /// The service or the bus did not answer in time.
  static func keyringTimeout(_ who: String, seconds: Double) -> Failure {
    Failure(
      .storeTimeout, "\(who) did not answer within \(keyringSeconds(seconds))",
      suggestion: .doctor())
  }

  /// Any other error, in the service's own words.
  static func keyringFailed(_ service: String, _ words: String) -> Failure {
    let message = "the keyring (\(service)) failed: \(keyringText(words))"
    // KWallet reports it itself; Debian only recommends the package.
    if words.contains(bytesOf: "libqca-ossl") {
      return Failure(
        .storeMissing, message,
        hint: "apt install libqca-qt5-2-plugins, then restart KWallet")
    }
    return Failure(.storeMissing, message, suggestion: .doctor())
  }

  /// More than one item belongs to `profile` and `account`, and none of them is trusted. `origins`
  /// are those of the first few of `count`.
  static func twoItems(
    _ count: Int, profile: String, account: String, origins: [String]
  ) -> Failure {
    let list = (origins.map { keyringText($0) } + (count > origins.count ? ["..."] : []))
      .joined(separator: ", ")
    let words = [
      "secret-tool", "clear", "xdg:schema", "io.github.authctl.Session", "profile", profile,
      "account", account,
    ]
    var failure = Failure(
      .storeMissing,
      "\(count == 2 ? "two" : "\(count)") items for \(keyringText(profile))"
        + " (\(keyringText(account))) in the keyring: \(list)",
      hint: "remove one in seahorse"
        + (DisplayText.shellCommand(words).map { ", or run: " + $0 } ?? ""))
    failure.profile = profile
    failure.account = account
    return failure
  }
}

/// Returns text from the service on one line: control, line-separating and direction-changing
/// characters become `?`, at most 300 characters.
func keyringText(_ text: String) -> String {
  var line = String.UnicodeScalarView()
  for scalar in text.unicodeScalars.prefix(300) {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: line.append("?")
    default: line.append(scalar)
    }
  }
  return String(line)
}

private func keyringSeconds(_ seconds: Double) -> String {
  seconds.rounded() == seconds ? "\(Int(seconds)) s" : "\(seconds) s"
}

/// Returns a bus address without its `guid=`, which only makes the line long.
func keyringAddress(_ address: String) -> String {
  let entries = address.utf8.split(separator: UInt8(ascii: ";")).map { entry in
    entry.split(separator: UInt8(ascii: ",")).filter { !$0.starts(with: "guid=".utf8) }
      .map { String(decoding: $0, as: UTF8.self) }.joined(separator: ",")
  }
  return keyringText(entries.joined(separator: ";"))
}

/// Returns the address of the user's session bus: `given`, the value of DBUS_SESSION_BUS_ADDRESS,
/// or else the socket `userBus` (/run/user/UID/bus) if this user owns it. Only `unix:` is allowed:
/// `tcp:` would send secrets over the network, `autolaunch:` and `unixexec:` start programs.
/// https://dbus.freedesktop.org/doc/dbus-specification.html#addresses
func sessionBusAddress(_ given: String?, userBus: String? = nil) throws(Failure) -> String {
  let address = given ?? ""
  if address.isEmpty {
    let path = userBus ?? "/run/user/\(geteuid())/bus"
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK,
      status.st_uid == geteuid()
    else { throw .noBus() }
    return "unix:path=\(path)"
  }
  let isLocal = address.utf8.split(separator: UInt8(ascii: ";")).allSatisfy {
    $0.starts(with: "unix:".utf8)
  }
  guard isLocal else { throw .busNotLocal(address) }
  return address
}
