internal import AuthKit

/// The values that `--pointer` finds in an answer.
struct PointedValues {
  /// The found values, in the order of the options.
  private(set) var values: [JSONText] = []
  /// A failure that names the pointers without a value.
  private(set) var failure: Failure?

  /// Returns the JSON of an answer.
  ///
  /// - Throws: `failed`, naming `option`, for an answer that is not JSON.
  static func json(of body: ByteBuffer, for option: String) throws(Failure) -> JSONText {
    do throws(JSONError) { return try JSONText(body) } catch {
      throw Failure(
        .failed,
        body.isEmpty
          ? "\(option): the answer is empty" : "\(option): the answer is not JSON: \(error)")
    }
  }

  /// - Throws: `failed` for an answer that is not JSON.
  init(of body: ByteBuffer, at pointers: [String]) throws(Failure) {
    let json = try Self.json(of: body, for: "--pointer")
    var complaints: [String] = []
    for pointer in pointers {
      let shown = DisplayText.oneLine(pointer, limit: 80)
      do throws(JSONPointerError) {
        if let value = try json.at(pointer) {
          values.append(value)
        } else {
          complaints.append("nothing at \(shown)")
        }
      } catch {
        complaints.append("two values at \(shown): a key appears twice")
      }
    }
    guard !complaints.isEmpty else { return }
    failure = Failure(
      .failed, "--pointer: " + complaints.joined(separator: ", "),
      hint: "the answer is " + DisplayText.oneLine(json.shape()))
  }
}
