internal import CLibsecret
internal import Glibc

/// The result that `promptSignal` leaves for the caller.
struct PromptState {
  let c: authctl_libsecret
  var isDone = false
  var isDismissed = false
  var isVanished = false
  var object: String?
}

/// `Completed(dismissed b, result v)` of the prompt, or `NameOwnerChanged` of the service.
let promptSignal: GDBusSignalCallback = { _, _, _, _, signal, parameters, data in
  guard let state = data?.assumingMemoryBound(to: PromptState.self) else { return }
  let c = state.pointee.c
  state.pointee.isDone = true
  guard let signal, strcmp(signal, "Completed") == 0, c.isOfType(parameters, "(bv)")
  else {
    state.pointee.isVanished = true
    return
  }
  let dismissed = c.g_variant_get_child_value(parameters, 0)
  let boxed = c.g_variant_get_child_value(parameters, 1)
  let result = c.g_variant_get_child_value(boxed, 0)
  state.pointee.isDismissed = c.g_variant_get_boolean(dismissed) != 0
  if c.isOfType(result, "o") {
    state.pointee.object = c.g_variant_get_string(result, nil).map { String(cString: $0) }
  }
  for value in [dismissed, boxed, result] { c.g_variant_unref(value) }
}

/// A GVariant as GLib accepts and returns it: its headers do not mark pointers that are never NULL.
typealias Variant = OpaquePointer?

extension authctl_libsecret {
  /// Runs `body` with `type` as GLib expects it. A GVariantType is its type string:
  /// G_VARIANT_TYPE() is a cast.
  func withType<R>(_ type: String, _ body: (OpaquePointer) -> R) -> R {
    type.withCString { body(OpaquePointer($0)) }
  }

  func isOfType(_ value: Variant, _ type: String) -> Bool {
    withType(type) { g_variant_is_of_type(value, $0) != 0 }
  }
}
