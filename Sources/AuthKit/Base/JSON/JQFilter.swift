internal import CJQ

/// A filter in the language of jq (https://jqlang.org/manual/): the only access to libjq.
///
/// It reads its input and nothing else: no variable of the environment, no module, no `~/.jq`.
package final class JQFilter {
  /// The maximum memory of one input as libjq holds it, in bytes (rule T10).
  static let mostMemory = 256 << 20

  private let jq: authctl_jq
  private let state: OpaquePointer
  private var complaint: String?

  /// Compiles `text`.
  ///
  /// - Throws: `usage` with jq's message when it is not a filter, `failed` without libjq.
  package init(_ text: String) throws(Failure) {
    guard let functions = authctl_jq()?.pointee else {
      throw .missingLibrary(
        .failed, "--jq: libjq", package: "libjq1", reason: String(cString: authctl_jq_error()))
    }
    guard let state = functions.jq_init() else {
      throw Failure(.failed, "--jq: libjq cannot be initialized")
    }
    (jq, self.state) = (functions, state)
    guard !text.utf8.contains(0) else { throw Failure(.usage, "--jq: the filter has a NUL byte") }
    jq.jq_set_error_cb(state, Self.note, Unmanaged.passUnretained(self).toOpaque())
    let isCompiled = jq.jq_compile(state, Self.program(text)) != 0
    jq.jq_set_error_cb(state, nil, nil)
    guard isCompiled else {
      throw Failure(.usage, "--jq: " + DisplayText.oneLine(complaint ?? "not a filter", limit: 200))
    }
  }

  deinit {
    var state: OpaquePointer? = state
    jq.jq_teardown(&state)
  }

  /// Returns the program for a filter.
  ///
  /// It hides what would reach beyond the input: the environment, which holds tokens, modules
  /// (`import` is not allowed in parentheses) and standard error. `implode` of jq 1.6 ends the
  /// process on numbers that are no characters.
  private static func program(_ filter: String) -> String {
    """
    {} as $ENV | def env: $ENV; def stderr: .; def debug: .; def debug(f): .; \
    def input_filename: null; def modulemeta: error("modules cannot be read"); \
    def _implode: implode; def implode: if type == "array" and all(.[]; type == "number" \
    and . >= 0 and . < 1114112 and (. < 55296 or . > 57343)) then _implode \
    else error("implode needs an array of code points") end; (
    \(filter)
    )
    """
  }

  /// Keeps the first message of the compiler, without the place in the program.
  private static let note: jq_msg_cb = { context, message in
    guard let context else { return }
    let filter = Unmanaged<JQFilter>.fromOpaque(context).takeUnretainedValue()
    let message = filter.jq.jq_format_error(message)
    defer { filter.jq.jv_free(message) }
    guard filter.complaint == nil else { return }
    let line = filter.text(of: message).utf8.prefix { $0 != UInt8(ascii: "\n") }
    let text = String(decoding: line, as: UTF8.self)
    filter.complaint = text.between("jq: error: ", " at <top-level>")
  }

  // MARK: - Running

  /// Filters `input` and passes each result to `body`.
  ///
  /// - Throws: `failed` with jq's message when the filter fails, or for an input that takes too
  ///   much memory; what `body` throws.
  package func run(
    on input: JSONText, _ body: (JSONText) throws(Failure) -> Void
  ) throws(Failure) {
    jq.jq_start(state, try input.withBytes { (bytes) throws(Failure) in try value(bytes) }, 0)
    while true {
      let result = jq.jq_next(state)
      guard jq.jv_get_kind(result) != JV_KIND_INVALID else {
        return try checkEnd(result)
      }
      try body(try text(result))
    }
  }

  private func value(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> jv {
    guard Self.memory(of: bytes) <= Self.mostMemory else {
      throw Failure(
        .failed, "--jq: the answer would take more than \(Self.mostMemory >> 20) MiB of memory",
        hint: "use --each /POINTER to filter one element at a time")
    }
    let characters = bytes.assumingMemoryBound(to: CChar.self).baseAddress
    let value = jq.jv_parse_sized(characters, Int32(clamping: bytes.count))
    guard jq.jv_get_kind(value) != JV_KIND_INVALID else {
      throw failure(jq.jv_invalid_get_msg(value))
    }
    return value
  }

  /// Returns the most memory that libjq takes for a JSON text, in bytes: an empty array has room
  /// for 16 values, an empty object for 8 members.
  private static func memory(of bytes: UnsafeRawBufferPointer) -> Int {
    var memory = bytes.count
    var isInside = false
    var isEscaped = false
    for byte in bytes {
      if isEscaped {
        isEscaped = false
      } else if isInside {
        isEscaped = byte == UInt8(ascii: "\\")
        isInside = byte != UInt8(ascii: "\"")
      } else {
        switch byte {
        case UInt8(ascii: "["): memory += 320
        case UInt8(ascii: "{"): memory += 480
        case UInt8(ascii: ","): memory += 128
        case UInt8(ascii: "\""):
          memory += 48
          isInside = true
        default: break
        }
      }
    }
    return memory
  }

  private func text(_ value: jv) throws(Failure) -> JSONText {
    let dump = jq.jv_dump_string(value, 0)
    defer { jq.jv_free(dump) }
    let buffer = ByteBuffer()
    buffer.append(bytes(of: dump))
    do throws(JSONError) { return try JSONText(buffer) } catch {
      throw Failure(.failed, "--jq: the result is not JSON: \(error)")
    }
  }

  /// Checks how the filter ended: `end` is an invalid value, with a message after an error.
  private func checkEnd(_ end: jv) throws(Failure) {
    if jq.jq_halted(state) != 0 {
      jq.jv_free(end)
      // `halt` has no message, `halt_error` has one.
      let message = jq.jq_get_error_message(state)
      guard jq.jv_get_kind(message) != JV_KIND_INVALID else {
        return jq.jv_free(message)
      }
      throw failure(message)
    }
    guard jq.jv_invalid_has_msg(jq.jv_copy(end)) != 0 else { return jq.jv_free(end) }
    throw failure(jq.jv_invalid_get_msg(end))
  }

  private func failure(_ message: jv) -> Failure {
    let isText = jq.jv_get_kind(message) == JV_KIND_STRING
    let shown = isText ? message : jq.jv_dump_string(message, 0)
    defer { jq.jv_free(shown) }
    return Failure(.failed, "--jq: " + DisplayText.oneLine(text(of: shown), limit: 200))
  }

  // MARK: - Strings

  private func text(of string: jv) -> String { String(decoding: bytes(of: string), as: UTF8.self) }

  /// Returns the bytes of a string, which are valid as long as the string.
  private func bytes(of string: jv) -> UnsafeRawBufferPointer {
    let count = Int(jq.jv_string_length_bytes(jq.jv_copy(string)))
    return UnsafeRawBufferPointer(start: jq.jv_string_value(string), count: count)
  }
}

extension String {
  /// Returns the text after `start`, if it begins so, and before the first `end`, if it has one.
  fileprivate func between(_ start: String, _ end: String) -> String {
    var bytes = Array(utf8)
    if bytes.starts(with: start.utf8) { bytes.removeFirst(start.utf8.count) }
    let mark = Array(end.utf8)
    let place = bytes.indices.first { bytes[$0...].starts(with: mark) }
    return String(decoding: bytes[..<(place ?? bytes.count)], as: UTF8.self)
  }
}
