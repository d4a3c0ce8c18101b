internal import AuthKit
internal import Glibc

/// The checks of `doctor`. No step throws: a failure is a finding.
struct DoctorChecks {
  private let app: App
  private(set) var checks = CheckReport()
  private var configIsWrong = false
  private var lookedAt = 0
  /// Why sessions cannot be checked; nil if they can.
  private var storeProblem: String?
  private lazy var sessions = Result { () throws(Failure) in try StoredSession.all(app) }

  init(_ app: App) { self.app = app }

  // MARK: The machine

  mutating func machine() {
    checks.add(.versions, .ok, Libraries.line)
    do throws(Failure) { try CurlClient.load() } catch { checks.add(Check(.libcurl, error)) }
    config()
    state()
    store()
  }

  /// Reports every mistake of every file, as `profile check` does.
  private mutating func config() {
    let shown = app.profiles.shown(app.profiles.configDirectory)
    do throws(Failure) {
      let names = try app.profiles.names()
      let own = app.profiles.configMistakes()
      configIsWrong = !own.isEmpty
      var mistakes = own
      for name in names {
        do throws(Failure) { mistakes += try app.profiles.mistakes(name) } catch {
          mistakes.append(error)
        }
      }
      for mistake in mistakes { checks.add(Check(.config, mistake)) }
      guard mistakes.isEmpty else { return }
      let count =
        names.count == 1 ? "1 profile" : "\(names.isEmpty ? "no" : "\(names.count)") profiles"
      checks.add(.config, .ok, "\(shown): \(count), no mistakes")
    } catch {
      configIsWrong = true
      checks.add(Check(.config, error))
    }
  }

  /// Checks that the folder of locks exists and is ours, and that locks work there.
  private mutating func state() {
    do throws(Failure) {
      let folder = app.stateFolder()
      let shown = app.profiles.shown(folder)
      guard try Self.excludes(folder + "/locks") else {
        checks.add(
          .state, .fail,
          "\(shown): file locks do not work: two processes could renew a session at once",
          hint: "set AUTHCTL_STATE_DIR to a folder on a local disk")
        return
      }
      guard access(folder, W_OK) == 0 else {
        checks.add(
          .state, .warn,
          "\(shown) is not writable; locks are in /run/user/\(geteuid())/authctl",
          hint: "set AUTHCTL_STATE_DIR to another folder")
        return
      }
      var status = stat()
      _ = stat(folder, &status)
      let detail = "\(shown), mode \(octal(status.st_mode)), locks work"
      if Ownership(status).isWritableByGroupOrOthers {
        checks.add(
          .state, .warn, "\(detail), but others can write there",
          hint: DisplayText.shellCommand(["chmod", "700", folder]))
      } else {
        checks.add(.state, .ok, detail)
      }
    } catch {
      checks.add(Check(.state, error))
    }
  }

  /// Returns whether a lock that is held cannot be taken a second time.
  private static func excludes(_ folder: String) throws(Failure) -> Bool {
    func hold(
      _ timeout: Double, _ work: () throws(Failure) -> Bool
    ) throws(Failure) -> Bool {
      try SessionLocks(folder: folder, timeout: timeout).hold(profile: "", account: "doctor", work)
    }
    return try hold(5) { () throws(Failure) in
      do throws(Failure) { return try hold(0) { () throws(Failure) in false } } catch {
        guard error.kind == .timeout else { throw error }
        return true
      }
    }
  }

  /// Adds the findings of `store test`: the bus as it is, the worst of the rest on one line.
  private mutating func store() {
    let store: any SessionStore
    do throws(Failure) { store = try app.store(mayPrompt: false) } catch {
      storeProblem = "the store is unknown"
      if configIsWrong {
        checks.add(.store, .skipped, "not checked: the configuration has a mistake")
      } else {
        checks.add(Check(.store, error))
      }
      return
    }
    var findings = store.test()
    if store.name == .secretService {
      if let first = findings.first, first.subject == .bus { checks.add(findings.removeFirst()) }
    } else {
      checks.add(.bus, .skipped, "not needed by the store \(store.name.rawValue)")
    }
    let place = findings.first { $0.subject.isPlaceOfStore }
    let rank: [Check.Result] = [.fail, .warn]
    for result in rank {
      guard var worst = findings.first(where: { $0.result == result }) else { continue }
      if let place, place.subject != worst.subject {
        worst.detail = "\(place.brief ?? place.detail): \(worst.brief ?? worst.detail)"
      }
      worst.subject = .store
      checks.add(worst)
      if result == .fail { storeProblem = "the store does not work" }
      if worst.isLocked { storeProblem = "the store is locked" }
      return
    }
    guard let place else {
      storeProblem = "there is no D-Bus session"
      checks.add(.store, .skipped, "not checked: there is no D-Bus session")
      return
    }
    let rest = findings.filter { $0.subject != place.subject }.compactMap(\.brief)
    checks.add(.store, .ok, "\(place.brief ?? place.detail): \(rest.joined(separator: ", "))")
  }

  mutating func proxies() {
    let variables = Proxies.variables(of: app.environment)
    let words = variables.map { $0.name + ($0.host.map { " " + $0 } ?? " is set") }
    checks.add(.proxy, .ok, words.isEmpty ? "none" : words.joined(separator: ", "))
  }

  /// Lists names only: most values are private.
  mutating func variables() {
    let names = app.environment.keys.filter(Variable.isOwn)
      .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    if !names.isEmpty { checks.add(.variables, .ok, names.joined(separator: ", ")) }
  }

  // MARK: Profiles

  /// Returns the profiles to check: all, or the one that a command would choose.
  mutating func profiles(all: Bool) -> [Profile] {
    let names = (try? app.profiles.names()) ?? []
    guard all else {
      do throws(Failure) { return [try app.choose().profile] } catch {
        reportMissing(error, names)
        return []
      }
    }
    var found: [Profile] = []
    for name in names {
      do throws(Failure) { found.append(try app.profiles.load(name)) } catch {
        reportMistaken(name)
      }
    }
    return found
  }

  private mutating func reportMissing(_ failure: Failure, _ names: [String]) {
    if failure.kind == .notSignedIn || configIsWrong { return }
    let wanted = app.globals.profile ?? app.environment[.profile] ?? app.environment[.url]
    let standard = (try? app.config())?.defaultProfile
    guard let name = wanted ?? standard ?? (names.count == 1 ? names[0] : nil) else {
      checks.add(
        .profile, .skipped, "several profiles and no default: \(names.joined(separator: ", "))",
        hint: "use -p NAME or --all")
      return
    }
    if names.contains(name) { return reportMistaken(name) }
    var check = Check(.profile, failure)
    // Somebody may have given a URL with a password for a name.
    check.detail = DisplayText.oneLine(check.detail, limit: 2000, isMessage: true)
    checks.add(check)
  }

  /// Skips a profile whose mistakes are reported with the configuration.
  private mutating func reportMistaken(_ name: String) {
    checks.add(.profile, .skipped, "not checked: its file has a mistake", profile: name)
  }

  // MARK: The server

  mutating func checkServer(of profile: Profile) {
    let name = profile.name
    lookedAt += 1
    let base: WebURL
    do throws(Failure) { base = try WebURL(profile.url, from: .person) } catch {
      checks.add(Check(.reach, error, profile: name))
      return
    }
    do throws(Failure) { try app.requireTrust(in: profile, mayAsk: false) } catch {
      checks.add(Check(.reach, error, profile: name))
      return
    }
    let probe = app.http(for: profile, base: base.origin).probe(base)
    let proxy = probe.proxy.map { ", through the proxy \($0.host) (\($0.source))" } ?? ""
    if let failure = probe.failure {
      checks.add(
        .reach, .fail, failure.message + proxy, hint: Self.fix(failure, probe, base),
        profile: name)
    } else {
      checks.add(
        .reach, .ok, "\(base.origin): \(Self.steps(probe, to: base.origin))\(proxy)", profile: name
      )
    }
    if let status = probe.head?.status, status >= 500 {
      checks.add(
        .answer, .warn,
        "HTTP \(status) \(DisplayText.oneLine(probe.head?.reason ?? "", limit: 60)) to GET "
          + Redactor.withoutQuery(base.text), profile: name)
    }
    certificate(probe, name)
    if probe.head != nil { clock(probe, name) }
  }

  private static func steps(_ probe: ServerProbe, to origin: Origin) -> String {
    func step(_ name: String, _ seconds: Double?) -> String? {
      seconds.flatMap { Int(exactly: min($0 * 1000, 1e9).rounded(.up)) }.map { "\(name) \($0) ms" }
    }
    // An IP address needs no DNS.
    let isName = probe.proxy != nil || !origin.isAddress
    return [
      isName ? step("DNS", probe.naming) : nil, step("TCP", probe.connecting),
      step(probe.protocolName ?? "TLS", probe.securing),
    ].compactMap { $0 }.joined(separator: ", ")
  }

  /// Returns a hint for `doctor`: a failure's own hint is for other commands (`-m`, `--cacert`).
  private static func fix(_ failure: Failure, _ probe: ServerProbe, _ base: WebURL) -> String? {
    switch failure.kind {
    case .timeout: return "set network.connect_timeout = 30 in the profile to wait longer"
    case .tls where failure.tlsProblem == .expired:
      return "renew the certificate, or correct this machine's clock"
    case .tls where failure.tlsProblem == .notYetValid:
      return "timedatectl set-ntp true"
    case .tls where failure.url != nil:
      return "to trust its authority, set network.ca_file in the profile"
    case .network:
      let ofProfile = probe.proxy.flatMap { $0.isOfProfile ? $0.host : nil }
      return DisplayText.shellCommand(
        ["curl", "-sv", "-o", "/dev/null"] + (ofProfile.map { ["-x", $0] } ?? []) + [base.text])
    default: return failure.hint
    }
  }

  private mutating func certificate(_ probe: ServerProbe, _ name: String) {
    guard let end = probe.certificateEnd else { return }
    let left = end.seconds - Clock.now().seconds
    // An expired certificate fails the handshake, which is reported already.
    guard left > 0 else { return }
    checks.add(
      .certificate, left < 14 * 86_400 ? .warn : .ok,
      "certificate expires in \(Timestamp.spoken(left)) (\(end.localText().prefix(10)))",
      profile: name
    )
  }

  private mutating func clock(_ probe: ServerProbe, _ name: String) {
    guard let difference = probe.clockDifference else {
      checks.add(
        .clock, .skipped, "the server sends no date, so the clocks cannot be compared",
        profile: name)
      return
    }
    // A Date has whole seconds, and the answer took some time.
    guard abs(difference) > 30 else {
      checks.add(.clock, .ok, "this machine's clock matches the server's", profile: name)
      return
    }
    let span = Timestamp.spoken(abs(difference))
    checks.add(
      .clock, .warn,
      difference > 0
        ? "this machine's clock is \(span) behind the server's: tokens expire early"
        : "this machine's clock is \(span) ahead of the server's: tokens seem to expire early",
      hint: "timedatectl set-ntp true", profile: name)
  }

  // MARK: The session

  mutating func session(of profile: Profile) {
    if let variable = app.tokenVariable(of: profile) {
      reportSession(profile, .ok, "the token is from \(variable)")
      return
    }
    if let storeProblem {
      reportSession(profile, .skipped, "not checked: \(storeProblem)")
      return
    }
    switch sessions {
    case .failure(let failure): checks.add(Check(.session, failure))
    case .success(let all):
      let own = all.filter {
        $0.profile?.utf8.elementsEqual(profile.name.utf8) ?? false
      }
      if own.isEmpty {
        reportSession(
          profile, .skipped, "not signed in", hint: Suggestion.login(profile.name).command)
      }
      for row in own { reportSession(profile, row) }
    }
  }

  private mutating func reportSession(_ profile: Profile, _ row: StoredSession) {
    let account = row.account ?? "?"
    switch row.state {
    case .valid:
      let left = row.secondsLeft.map { ", \(Timestamp.spoken($0)) left" } ?? ""
      reportSession(
        profile, .ok, "\(account): valid\(left)\(row.isRefreshable ? ", renewable" : "")")
    case .refreshable: reportSession(profile, .ok, "\(account): expired, renewable")
    case .expired:
      let ago = row.secondsLeft.map { " \(Timestamp.spoken(-$0)) ago" } ?? ""
      reportSession(profile, .warn, "\(account): expired\(ago)", hint: row.loginCommand)
    case .refused:
      reportSession(
        profile, .warn, "\(account): refused by the server", hint: row.loginCommand)
    case .locked:
      reportSession(profile, .skipped, "\(account): locked", hint: Suggestion.unlockStore.command)
    }
  }

  private mutating func reportSession(
    _ profile: Profile, _ result: Check.Result, _ detail: String, hint: String? = nil
  ) {
    let whose = lookedAt > 1 ? "\(profile.name), " : ""
    checks.add(.session, result, whose + detail, hint: hint, profile: profile.name)
  }
}
