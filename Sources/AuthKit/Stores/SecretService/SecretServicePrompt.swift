internal import CLibsecret
internal import Glibc

/// What `promptSignal` leaves for the caller.
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
  guard strcmp(signal, "Completed") == 0, c.g_variant_is_of_type(parameters, "(bv)") != 0 else {
    state.pointee.isVanished = true
    return
  }
  let dismissed = c.g_variant_get_child_value(parameters, 0)
  let boxed = c.g_variant_get_child_value(parameters, 1)
  let result = c.g_variant_get_child_value(boxed, 0)
  state.pointee.isDismissed = c.g_variant_get_boolean(dismissed) != 0
  if c.g_variant_is_of_type(result, "o") != 0 {
    state.pointee.object = String(cString: c.g_variant_get_string(result, nil))
  }
  for value in [dismissed, boxed, result] { c.g_variant_unref(value) }
}
