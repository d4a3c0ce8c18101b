import Foundation

/// Makes tokens and cookies. The key lives as long as the process.
struct Signer: Sendable {
  private let key = (0..<32).map { _ in UInt8.random(in: .min ... .max) }

  /// A JSON Web Token (RFC 7519), signed with HS256.
  func jwt(_ claims: JSON) -> String {
    let header: JSON = ["alg": "HS256", "typ": "JWT"]
    let signed = Self.base64url(header.text()) + "." + Self.base64url(claims.text())
    return signed + "." + Self.base64url(mac(signed))
  }

  /// Signs text: base64, two hyphens, and the MAC in hex.
  func seal(_ text: String) -> String {
    let payload = Data(text.utf8).base64EncodedString()
    let sealed = payload + "--" + mac(payload).hex
    return sealed.addingPercentEncoding(withAllowedCharacters: .alphanumerics.union(["-"])) ?? ""
  }

  /// The text given to `seal`; nil if the signature is wrong.
  func open(_ sealed: String) -> String? {
    guard let end = sealed.range(of: "--"),
      let payload = sealed[..<end.lowerBound].removingPercentEncoding,
      let text = Data(base64Encoded: payload).map({ String(decoding: $0, as: UTF8.self) }),
      seal(text) == sealed
    else { return nil }
    return text
  }

  private func mac(_ text: String) -> Data {
    Data(Digest.mac(text, key: key))
  }

  static func base64url(_ text: String) -> String { base64url(Data(text.utf8)) }

  static func base64url(_ data: Data) -> String {
    data.base64EncodedString().replacingOccurrences(of: "+", with: "-")
      .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
  }
}

/// `length` random characters.
func randomText(_ length: Int, of alphabet: String) -> String {
  let letters = Array(alphabet)
  return String((0..<length).map { _ in letters[Int.random(in: 0..<letters.count)] })
}

func randomBase64(bytes: Int) -> String {
  Data((0..<bytes).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString()
}

extension String {
  static let hexDigits = "0123456789abcdef"
  static let asciiLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
}
