internal import Glibc

extension SecretServiceStore {
  /// Checks the bus, the daemon, the default collection and the session's encryption, and writes a
  /// probe.
  ///
  /// All checks share the time limit of one operation; only deleting a probe gets a little more.
  package func test() -> [Check] {
    var checks: [Check] = []
    var step = Check.Subject.bus
    do throws(Failure) {
      let bus = try connect()
      checks.append(Check(step, .ok, Self.shown(try sessionBusAddress(busAddress))))
      step = .daemon
      try bus.bind()
      checks.append(Self.daemon(bus))
      step = .collection
      let path = try collection(bus)
      let collection = try check(bus, collection: path)
      checks.append(collection)
      step = .session
      checks.append(try Self.encryption(bus))
      checks.append(
        collection.isLocked
          ? Check(.probe, .skipped, "not written: the keyring is locked") : probe(bus, in: path))
    } catch {
      checks.append(Check(step, error))
    }
    return checks
  }

  private static func shown(_ address: String) -> String {
    let shown = keyringAddress(address)
    let path = "unix:path=".utf8
    return shown.utf8.starts(with: path)
      ? String(decoding: shown.utf8.dropFirst(path.count), as: UTF8.self) : shown
  }

  private func check(_ bus: SecretServiceBus, collection path: String) throws(Failure) -> Check {
    let label = "\"\(keyringText(try bus.label(ofCollection: path)))\""
    guard try bus.isLocked(collection: path) else {
      return Check(
        .collection, .ok, "\(label) is unlocked, no dialog needed", brief: "collection \(label)")
    }
    var check = Check(
      .collection,
      .keyringLocked(
        bus.serviceName, collection: nil, isAttended: isAttended,
        takesPassword: try bus.takesPassword()))
    check.detail = "\(label) is locked: its password is required"
    check.brief = "collection \(label) is locked"
    check.isLocked = true
    return check
  }

  private static func encryption(_ bus: SecretServiceBus) throws(Failure) -> Check {
    let algorithm = keyringText(try bus.sessionAlgorithm())
    return algorithm == "plain"
      ? Check(.session, .warn, "not encrypted: values cross the bus as plain text")
      : Check(.session, .ok, "encrypted (\(algorithm))", brief: "encrypted")
  }

  /// Reports name, process and program of the owner of org.freedesktop.secrets (rule B12).
  private static func daemon(_ bus: SecretServiceBus) -> Check {
    let name = bus.serviceName
    guard let pid = bus.process() else {
      return Check(.daemon, .ok, "\(name), unknown process", brief: name)
    }
    let program = secretServiceProgram(pid: pid)
    return Check(
      .daemon, .ok,
      "\(name), process \(pid), \(program ?? "unknown program")",
      brief: name)
  }

  /// Probes with an item of another schema than sessions have and a name that no other process can
  /// use.
  private func probe(_ bus: SecretServiceBus, in collection: String) -> Check {
    let attributes = [
      ("xdg:schema", "io.github.authctl.Probe"), ("probe", randomHex(bytes: 16)),
    ]
    do throws(Failure) {
      let value = Secret(randomHex(bytes: 32))
      let made = try bus.createItem(
        in: collection, label: "authctl: store test", attributes: attributes, value)
      guard made.prompt == "/" else {
        return Check(.probe, .warn, "the keyring opens a dialog for each write")
      }
      guard try bus.search(attributes).unlocked == [made.item] else {
        throw Failure(.storeMissing, "the test entry was written but not found")
      }
      let isSame = try bus.secret(of: made.item).withBytes { read in
        value.withBytes { read.elementsEqual($0) }
      }
      guard isSame else { throw Failure(.storeMissing, "the test entry was changed") }
      guard try bus.deleteItem(made.item) == "/" else {
        return Check(
          .probe, .warn,
          "the keyring opens a dialog for each deletion: the test entry is still there")
      }
      return Check(.probe, .ok, "written, read and deleted", brief: "a test entry works")
    } catch {
      var check = Check(.probe, error)
      if !takeBack(bus, attributes) { check.detail += "; the test entry may still be there" }
      return check
    }
  }

  private func takeBack(_ bus: SecretServiceBus, _ attributes: [(String, String)]) -> Bool {
    bus.begin(min(timeout, 2))
    do throws(Failure) {
      let found = try bus.search(attributes)
      for item in found.unlocked where try bus.deleteItem(item) != "/" { return false }
      return found.locked.isEmpty
    } catch {
      return false
    }
  }
}

/// Returns the program of a process; nil if the kernel does not show it.
private func secretServiceProgram(pid: UInt32) -> String? {
  var path = [CChar](repeating: 0, count: 4096)
  let count = readlink("/proc/\(pid)/exe", &path, path.count)
  guard count > 0 else { return nil }
  return keyringText(String(decoding: path[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self))
}
