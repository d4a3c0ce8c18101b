internal import CLibsecret
internal import CSystem
internal import Glibc

/// The Secret Service protocol on a D-Bus connection of our own: one method per call, no policy.
///
/// Uses GDBus for the calls and libsecret only to encrypt the values: its lookup and store
/// functions open dialogs by themselves and do not distinguish "locked" from "not there". The
/// connection is not GLib's shared one, so `exit-on-close` does not apply to it.
///
/// Every method throws `Failure` with a kind of exit code 12: `storeTimeout` at the deadline that
/// `begin` set, `storeLocked` where the service says so, else `storeMissing`.
/// Calls: https://specifications.freedesktop.org/secret-service-spec/latest/
final class SecretServiceBus {
  let c: authctl_libsecret
  private let connection: OpaquePointer
  private let gate: BusGate
  private let answers: BusAnswers
  private var service: UnsafeMutablePointer<SecretService>?
  private var negotiation: SessionNegotiation?
  private var owner = ""
  private var firstCall: BusCall?
  private var processCall: BusCall?
  private var pid: UInt32?
  private var knownProgram: SecretServiceProgram?
  private var isAbandoned = false
  private var limit: Double
  private var deadline: Double

  /// The D-Bus name of the last call's error.
  private var remoteError: String?

  /// Connects to the bus at `busAddress`, the value of DBUS_SESSION_BUS_ADDRESS. Blocks without
  /// limit on a bus that accepts the connection but does not answer, so call it on a thread that
  /// need not be waited for (`SecretServiceAhead`). Later calls have `timeout` seconds in all.
  /// https://docs.gtk.org/gio/ctor.DBusConnection.new_for_address_sync.html
  init(busAddress: String?, timeout: Double) throws(Failure) {
    let address = try sessionBusAddress(busAddress)
    guard let table = authctl_libsecret_load() else {
      throw .keyringLibraryMissing(String(cString: authctl_libsecret_error()))
    }
    c = table.pointee
    limit = timeout
    deadline = MonotonicClock.now() + timeout
    gate = BusGate()
    answers = BusAnswers(c)
    var error: UnsafeMutablePointer<GError>?
    let socket = authctl_bus_socket(address, &error)
    let refusal = socket < 0 ? nil : BusGreeting.refusal(of: socket)
    if refusal != nil { close(socket) }
    guard socket >= 0, refusal == nil, let connected = gate.connection(over: socket, &error) else {
      let words = error.map { String(cString: $0.pointee.message) }
      if let error { table.pointee.g_error_free(error) }
      throw .busUnreachable(address, refusal ?? words ?? "no reason given")
    }
    connection = connected
  }

  deinit {
    // One that still works is needed until the process ends, and ends with it: GDBus would first send
    // messages, and wait for threads. The answer to an unfinished negotiation would use these objects.
    guard isGone, negotiation == nil else { return }
    if let service { c.g_object_unref(service) }
    c.g_object_unref(UnsafeMutableRawPointer(connection))
  }

  /// Limits all following calls to `seconds` in total.
  func begin(_ seconds: Double) {
    limit = seconds
    deadline = MonotonicClock.now() + seconds
  }

  /// Whether the connection or the service has ended; a new object may work.
  var isGone: Bool {
    if isAbandoned || c.g_dbus_connection_is_closed(connection) != 0 { return true }
    switch remoteError {
    case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
      "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected":
      return true
    default: return false
    }
  }

  /// Whether the last error was that an item or collection does not exist.
  var isObjectMissing: Bool {
    remoteError == "org.freedesktop.Secret.Error.NoSuchObject"
      || remoteError == "org.freedesktop.DBus.Error.UnknownObject"
      || remoteError == "org.freedesktop.DBus.Error.UnknownMethod"
  }

  /// Whether the last error was gnome-keyring's for a wrong password.
  var isDenied: Bool { remoteError == "org.gnome.keyring.Error.Denied" }

  /// The program that answers.
  var program: SecretServiceProgram {
    if let knownProgram { return knownProgram }
    // Set first: a failing call asks for the name, and it must not hide the error before it.
    knownProgram = .unknown
    let seen = remoteError
    defer { remoteError = seen }
    let found = process().map(SecretServiceProgram.init(pid:)) ?? .unknown
    knownProgram = found
    return found
  }

  /// The name of the program that answers.
  var serviceName: String { program.name }

  /// Returns the process that answers; nil if the bus does not say.
  func process() -> UInt32? {
    if let call = processCall {
      processCall = nil
      guard let reply = try? reply(to: call) else { return nil }
      defer { c.g_variant_unref(reply) }
      let value = child(reply, 0)
      defer { c.g_variant_unref(value) }
      pid = c.g_variant_get_uint32(value)
    }
    return pid
  }

  /// The path of libsecret; nil if it cannot be opened.
  static var libraryPath: String? {
    guard authctl_libsecret_load() != nil else { return nil }
    return DisplayText.oneLine(String(cString: authctl_libsecret_path()), limit: 100)
  }

  /// Whether values cross the bus encrypted (`dh-ietf1024-sha256-aes128-cbc-pkcs7`); some daemons
  /// know `plain` only.
  func sessionAlgorithm() throws(Failure) -> String {
    let service = try session()
    return c.secret_service_get_session_algorithms(service).map { String(cString: $0) } ?? "plain"
  }

  // MARK: Values that are secret; other methods are in SecretServiceCalls.swift

  /// Item.GetSecret: returns the value of an unlocked item.
  func secret(of item: String) throws(Failure) -> Secret {
    let service = try session()
    let reply = try send(
      owner, item, Self.api + "Item", "GetSecret", [sessionPath(service)], "((oayays))")
    defer { c.g_variant_unref(reply) }
    return try decoded(child(reply, 0), service)
  }

  /// Service.GetSecrets: returns the values of unlocked items, in any order, without missing ones.
  func secrets(of items: [String]) throws(Failure) -> [SharedSecret] {
    let service = try session()
    let arguments = [build("ao", items.map { path($0) }), sessionPath(service)]
    let reply = try send(
      owner, Self.root, Self.api + "Service", "GetSecrets", arguments, "(a{o(oayays)})")
    defer { c.g_variant_unref(reply) }
    let values = child(reply, 0)
    defer { c.g_variant_unref(values) }
    var secrets: [SharedSecret] = []
    for index in 0..<count(values) {
      let pair = child(values, index)
      defer { c.g_variant_unref(pair) }
      secrets.append(SharedSecret(try decoded(child(pair, 1), service)))
    }
    return secrets
  }

  /// Returns the decrypted value of `encoded`, which it releases.
  private func decoded(
    _ encoded: Variant, _ service: UnsafeMutablePointer<SecretService>
  ) throws(Failure) -> Secret {
    defer { c.g_variant_unref(encoded) }
    guard let value = c.secret_service_decode_dbus_secret(service, encoded) else {
      throw .keyringFailed(serviceName, "it sent a value that cannot be decrypted")
    }
    defer { release(value) }
    var count: gsize = 0
    let bytes = c.secret_value_get(value, &count)
    return Secret(copying: UnsafeRawBufferPointer(start: bytes, count: Int(count)))
  }

  /// Collection.CreateItem, replacing an item of the same attributes. `prompt` is "/" when done.
  func createItem(
    in collection: String, label: String, attributes: [(String, String)],
    _ payload: borrowing Secret
  ) throws(Failure) -> (item: String, prompt: String) {
    let properties = build(
      "a{sv}",
      [
        entry("org.freedesktop.Secret.Item.Label", text(label)),
        entry("org.freedesktop.Secret.Item.Attributes", dictionary(attributes)),
      ])
    return try withEncoded(payload) { (value) throws(Failure) in
      let arguments = [properties, value, c.g_variant_new_boolean(1)]
      return try call(collection, "Collection", "CreateItem", arguments, reply: "(oo)") {
        (string($0, 0), string($0, 1))
      }
    }
  }

  /// Runs `body` with the value in the form for the bus, and wipes it only afterwards: without
  /// encryption, that form is the value's own memory.
  func withEncoded<R>(
    _ payload: borrowing Secret, _ body: (Variant) throws(Failure) -> R
  ) throws(Failure) -> R {
    let service = try session()
    let value = payload.withBytes { bytes in
      c.secret_value_new(
        bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, "text/plain")
    }
    defer { release(value) }
    return try body(c.secret_service_encode_dbus_secret(service, value))
  }

  /// Prompt.Prompt: shows the dialog and waits for its end, at most `timeout` seconds. Returns
  /// whether the user dismissed it and, for CreateItem and CreateCollection, the new object.
  func perform(
    prompt path: String, timeout: Double
  ) throws(Failure) -> (dismissed: Bool, object: String?) {
    begin(timeout)
    var state = PromptState(c: c)
    let context = c.g_main_context_new()
    defer { c.g_main_context_unref(context) }
    c.g_main_context_push_thread_default(context)
    defer { c.g_main_context_pop_thread_default(context) }
    // Its callback does nothing: it ends each iteration's wait after a second, because no signal
    // reports the end of the bus itself.
    let alarm = c.g_timeout_source_new(1000)
    defer { c.g_source_unref(alarm) }
    c.g_source_set_callback(alarm, { _ in 1 }, nil, nil)
    _ = c.g_source_attach(alarm, context)
    defer { c.g_source_destroy(alarm) }
    let result: Result<Bool, Failure> = withUnsafeMutablePointer(to: &state) { state in
      let completed = c.g_dbus_connection_signal_subscribe(
        connection, owner, "org.freedesktop.Secret.Prompt", "Completed", path, nil,
        G_DBUS_SIGNAL_FLAGS_NONE, promptSignal, state, nil)
      let vanished = c.g_dbus_connection_signal_subscribe(
        connection, "org.freedesktop.DBus", "org.freedesktop.DBus", "NameOwnerChanged",
        "/org/freedesktop/DBus", owner, G_DBUS_SIGNAL_FLAGS_NONE, promptSignal, state, nil)
      defer {
        c.g_dbus_connection_signal_unsubscribe(connection, completed)
        c.g_dbus_connection_signal_unsubscribe(connection, vanished)
      }
      do throws(Failure) {
        try call(path, "Prompt", "Prompt", [text("")]) { _ in }
      } catch {
        return .failure(error)
      }
      while !state.pointee.isDone, MonotonicClock.now() < deadline,
        c.g_dbus_connection_is_closed(connection) == 0
      {
        _ = c.g_main_context_iteration(context, 1)
      }
      return .success(state.pointee.isDone)
    }
    guard try result.get() else {
      if c.g_dbus_connection_is_closed(connection) != 0 {
        throw .keyringFailed(serviceName, "it stopped while its dialog was open")
      }
      // Do not call Prompt.Dismiss: gnome-keyring 42.1 aborts on it while its dialog starts. It
      // closes the dialog when the connection ends, as on Ctrl-C.
      isAbandoned = true
      throw .keyringPromptTimeout(seconds: timeout)
    }
    if state.isVanished {
      throw .keyringFailed(serviceName, "it stopped while its dialog was open")
    }
    return (state.isDismissed, state.object)
  }

  // MARK: Connection

  /// Finds the owner of org.freedesktop.secrets, which the bus may start, and talks only to that
  /// one: a successor does not know our session.
  func bind(mayStart: Bool = true) throws(Failure) {
    do throws(Failure) {
      try findOwner()
    } catch {
      guard mayStart, remoteError == "org.freedesktop.DBus.Error.NameHasNoOwner" else {
        throw error
      }
      try start()
      try findOwner()
    }
    // The answer is read where it is needed.
    processCall = try begin(
      Self.bus, "/org/freedesktop/DBus", Self.bus, "GetConnectionUnixProcessID", [text(owner)],
      "(u)")
    var error: UnsafeMutablePointer<GError>?
    service = authctl_secret_service_new(connection, owner, try remaining(), &error)
    if service == nil { throw failure(error) }
  }

  private func findOwner() throws(Failure) {
    firstCall = try begin(
      Self.busName, Self.root, Self.properties, "Get",
      [text(Self.api + "Service"), text("Collections")], "(v)")
    owner = try callBus("GetNameOwner", [text(Self.busName)], reply: "(s)") { string($0, 0) }
  }

  /// Waits until the service has answered our first call. gnome-keyring takes note of a client beside
  /// its first call, and aborts if that is OpenSession and overtakes the note: about once when a
  /// thousand processes come at once. Reading a property needs no client.
  private func meet() {
    firstCall?.end()
    firstCall = nil
  }

  private func start() throws(Failure) {
    let arguments = [text(Self.busName), c.g_variant_new_uint32(0)]
    do throws(Failure) {
      try callBus("StartServiceByName", arguments, reply: "(u)") { _ in }
    } catch {
      if remoteError == "org.freedesktop.DBus.Error.ServiceUnknown" { throw .noSecretService() }
      throw error
    }
  }

  /// Starts to negotiate the encrypted session: sends our half of the keys, which takes 1 ms to make.
  /// The service computes for 2 ms before it answers. `session` reads the answer.
  func negotiateAhead() throws(Failure) {
    guard let service else { return }
    meet()
    c.g_dbus_proxy_set_default_timeout(service.pointer(to: \.parent), try remaining())
    negotiation = SessionNegotiation(c, service, answers)
  }

  /// Returns the encrypted session, negotiated once.
  private func session() throws(Failure) -> UnsafeMutablePointer<SecretService> {
    guard let service else { throw .noSecretService() }
    meet()
    negotiation?.finish()
    negotiation = nil
    c.g_dbus_proxy_set_default_timeout(service.pointer(to: \.parent), try remaining())
    var error: UnsafeMutablePointer<GError>?
    if c.secret_service_ensure_session_sync(service, nil, &error) == 0 { throw failure(error) }
    return service
  }

  private func sessionPath(_ service: UnsafeMutablePointer<SecretService>) -> Variant {
    let path = c.secret_service_get_session_dbus_path(service)
    return c.g_variant_new_object_path(path.map { String(cString: $0) } ?? "/")
  }

  // MARK: Calls

  /// Calls a method of the bus itself.
  func callBus<R>(
    _ method: String, _ arguments: [Variant] = [], reply: String,
    _ read: (Variant) -> R
  ) throws(Failure) -> R {
    let reply = try send(Self.bus, "/org/freedesktop/DBus", Self.bus, method, arguments, reply)
    defer { c.g_variant_unref(reply) }
    return read(reply)
  }

  /// Calls a method of org.freedesktop.Secret.`interface`; `read` extracts the result.
  func call<R>(
    _ path: String, _ interface: String, _ method: String, _ arguments: [Variant] = [],
    reply: String = "()", _ read: (Variant) throws(Failure) -> R
  ) throws(Failure) -> R {
    try ask(path, Self.api + interface, method, arguments, reply: reply, read)
  }

  /// Calls a method of an interface given by its full name.
  func ask<R>(
    _ path: String, _ interface: String, _ method: String, _ arguments: [Variant] = [],
    reply: String = "()", _ read: (Variant) throws(Failure) -> R
  ) throws(Failure) -> R {
    let reply = try send(owner, path, interface, method, arguments, reply)
    defer { c.g_variant_unref(reply) }
    return try read(reply)
  }

  /// Returns a property of org.freedesktop.Secret.`interface`, which must be of `type`.
  func property<R>(
    _ path: String, _ interface: String, _ property: String, type: String,
    _ read: (Variant) -> R
  ) throws(Failure) -> R {
    let arguments = [text(Self.api + interface), text(property)]
    return try ask(path, Self.properties, "Get", arguments, reply: "(v)") {
      (reply) throws(Failure) in
      let boxed = child(reply, 0)
      defer { c.g_variant_unref(boxed) }
      let value = child(boxed, 0)
      defer { c.g_variant_unref(value) }
      guard c.isOfType(value, type) else {
        throw .keyringFailed(serviceName, "its property \(property) is not of type \(type)")
      }
      return read(value)
    }
  }

  /// Calls a method of org.freedesktop.Secret.`interface` once for each of `arguments`, without waiting
  /// for one answer before the next call, and returns what `read` extracts, in this order.
  func call<R>(
    _ path: String, _ interface: String, _ method: String, each arguments: [[Variant]],
    reply type: String, _ read: (Variant) -> R
  ) throws(Failure) -> [R] {
    var calls: [BusCall] = []
    for list in arguments {
      calls.append(try begin(owner, path, Self.api + interface, method, list, type))
    }
    var results: [R] = []
    for call in calls {
      let reply = try reply(to: call)
      defer { c.g_variant_unref(reply) }
      results.append(read(reply))
    }
    return results
  }

  private func send(
    _ name: String, _ path: String, _ interface: String, _ method: String,
    _ arguments: [Variant], _ type: String
  ) throws(Failure) -> Variant {
    try reply(to: try begin(name, path, interface, method, arguments, type))
  }

  private func begin(
    _ name: String, _ path: String, _ interface: String, _ method: String,
    _ arguments: [Variant], _ type: String
  ) throws(Failure) -> BusCall {
    if name == owner { meet() }
    let parameters = build("r", arguments)
    return BusCall(
      c, connection, answers, (name, path, interface, method), parameters, reply: type,
      milliseconds: try remaining())
  }

  /// Waits for the answer to a call, which the caller releases.
  private func reply(to call: BusCall) throws(Failure) -> Variant {
    remoteError = nil
    let (answer, error) = call.answer()
    guard let answer else { throw failure(error) }
    return answer
  }

  private func remaining() throws(Failure) -> Int32 {
    let left = deadline - MonotonicClock.now()
    guard left > 0 else { throw .keyringTimeout("the keyring", seconds: limit) }
    return Int32(left * 1000) + 1
  }

  /// Takes over and frees `error`.
  private func failure(_ error: UnsafeMutablePointer<GError>?) -> Failure {
    if gate.hasRefused {
      if let error { c.g_error_free(error) }
      return .keyringFailed(serviceName, "it sent more than 1 MiB in one message")
    }
    guard let error else { return .keyringFailed(serviceName, "it gave no reason") }
    defer { c.g_error_free(error) }
    if let remote = c.g_dbus_error_get_remote_error(error) {
      remoteError = String(cString: remote)
      c.g_free(remote)
    }
    if remoteError == "org.freedesktop.Secret.Error.IsLocked" {
      return .keyringLocked(
        serviceName, collection: nil, isAttended: false, takesPassword: program == .gnomeKeyring)
    }
    if error.pointee.domain == c.g_io_error_quark(),
      error.pointee.code == Int32(G_IO_ERROR_TIMED_OUT.rawValue)
    {
      return .keyringTimeout("the keyring", seconds: limit)
    }
    // Remove "GDBus.Error:NAME: ", which is for programmers.
    _ = c.g_dbus_error_strip_remote_error(error)
    let words = String(cString: error.pointee.message)
    return .keyringFailed(owner.isEmpty ? SecretServiceProgram.unknown.name : serviceName, words)
  }

  // MARK: Values

  private static let bus = "org.freedesktop.DBus"
  private static let properties = "org.freedesktop.DBus.Properties"
  private static let busName = "org.freedesktop.secrets"
  private static let api = "org.freedesktop.Secret."
  static let root = "/org/freedesktop/secrets"

  /// Wipes and releases the value, which is only ours: libsecret keeps values in locked memory and
  /// wipes it, but falls back to malloc(3) when RLIMIT_MEMLOCK is used up.
  private func release(_ value: OpaquePointer?) {
    var count: gsize = 0
    if let bytes = c.secret_value_get(value, &count) {
      explicit_bzero(UnsafeMutableRawPointer(mutating: bytes), Int(count))
    }
    c.secret_value_unref(UnsafeMutableRawPointer(value))
  }
}
