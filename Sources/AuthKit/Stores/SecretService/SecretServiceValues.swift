internal import CLibsecret

/// D-Bus values, made and read. https://docs.gtk.org/glib/struct.Variant.html
extension SecretServiceBus {
  /// A GVariant starts floating: the container or call that it is put into owns it.
  func text(_ string: String) -> Variant { c.g_variant_new_string(string) }

  func path(_ path: String) -> Variant { c.g_variant_new_object_path(path) }

  func entry(_ key: String, _ value: Variant) -> Variant {
    c.g_variant_new_dict_entry(text(key), c.g_variant_new_variant(value))
  }

  func dictionary(_ pairs: [(String, String)]) -> Variant {
    build("a{ss}", pairs.map { c.g_variant_new_dict_entry(text($0.0), text($0.1)) })
  }

  func build(_ type: String, _ elements: [Variant]) -> Variant {
    let builder = c.withType(type) { c.g_variant_builder_new($0) }
    defer { c.g_variant_builder_unref(builder) }
    for element in elements { c.g_variant_builder_add_value(builder, element) }
    return c.g_variant_builder_end(builder)
  }

  func content(_ value: Variant) -> String {
    c.g_variant_get_string(value, nil).map { String(cString: $0) } ?? ""
  }

  func isTrue(_ value: Variant) -> Bool { c.g_variant_get_boolean(value) != 0 }

  /// Returns the entries of a dictionary of texts.
  func pairs(_ value: Variant) -> [String: String] {
    var found: [String: String] = [:]
    for index in 0..<count(value) {
      let pair = child(value, index)
      found[string(pair, 0)] = string(pair, 1)
      c.g_variant_unref(pair)
    }
    return found
  }

  func child(_ value: Variant, _ index: Int) -> Variant {
    c.g_variant_get_child_value(value, gsize(index))
  }

  func count(_ value: Variant) -> Int { Int(c.g_variant_n_children(value)) }

  func string(_ value: Variant, _ index: Int) -> String {
    let child = child(value, index)
    defer { c.g_variant_unref(child) }
    return content(child)
  }

  func strings(_ value: Variant, _ index: Int) -> [String] {
    let child = child(value, index)
    defer { c.g_variant_unref(child) }
    return elements(child)
  }

  func elements(_ array: Variant) -> [String] {
    (0..<count(array)).map { string(array, $0) }
  }
}
