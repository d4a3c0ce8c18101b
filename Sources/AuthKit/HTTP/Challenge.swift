/// A challenge of the header WWW-Authenticate: `Bearer realm="x", error="invalid_token"` (RFC 9110,
/// section 11.6.1).
package struct Challenge {
  /// The scheme in lower case.
  package let scheme: String
  private var parameters: [(name: String, value: String)] = []

  private init(scheme: String) { self.scheme = scheme.asciiLowercased }

  /// The value of a parameter; its name is compared in any case.
  package subscript(name: String) -> String? {
    parameters.first { $0.name.equalsIgnoringCase(name) }?.value
  }

  /// Returns the challenges in `values`, the values of all such headers of an answer, as far as they
  /// can be read.
  package static func all(in values: [String]) -> [Challenge] {
    var challenges: [Challenge] = []
    for value in values {
      var bytes = Array(value.utf8)[...]
      while true {
        bytes = bytes.drop { " \t,".utf8.contains($0) }
        let word = bytes.prefix { !" \t,=\"".utf8.contains($0) }
        guard !word.isEmpty else { break }
        bytes = bytes.dropFirst(word.count)
        let text = String(decoding: word, as: UTF8.self)
        let rest = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        // A name is followed by `=`; a scheme by a space, and by nothing at the end.
        guard rest.first == UInt8(ascii: "="), !challenges.isEmpty else {
          challenges.append(Challenge(scheme: text))
          continue
        }
        bytes = rest.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
        var found: String
        if bytes.first == UInt8(ascii: "\"") {
          bytes = bytes.dropFirst()
          found = bytes.popQuoted()
        } else {
          let token = bytes.prefix { !" \t,".utf8.contains($0) }
          bytes = bytes.dropFirst(token.count)
          found = String(decoding: token, as: UTF8.self)
        }
        challenges[challenges.count - 1].parameters.append((text, found))
      }
    }
    return challenges
  }
}

extension ResponseHead {
  /// The challenge of the answer that asks for a token (RFC 6750, section 3; RFC 9449, section 7.1);
  /// of several the one that names an error; nil without one.
  package var tokenChallenge: Challenge? {
    let all = Challenge.all(in: all("WWW-Authenticate")).filter {
      ["bearer", "dpop"].contains($0.scheme)
    }
    return all.first { $0["error"] != nil } ?? all.first
  }

  /// Whether the server wants the same request with a nonce in its proof (RFC 9449, section 9).
  var asksForNonce: Bool {
    status == 401
      && Challenge.all(in: all("WWW-Authenticate")).contains {
        $0.scheme == "dpop" && $0["error"] == "use_dpop_nonce"
      }
  }
}
