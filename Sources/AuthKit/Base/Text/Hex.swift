/// Returns `count` random bytes as hex digits.
func randomHex(bytes count: Int) -> String { hexDigits(randomBytes(count)) }

/// Returns `count` random bytes from the kernel (getrandom(2)).
func randomBytes(_ count: Int) -> [UInt8] {
  var generator = SystemRandomNumberGenerator()
  var bytes: [UInt8] = []
  while bytes.count < count {
    withUnsafeBytes(of: generator.next()) { bytes += $0.prefix(count - bytes.count) }
  }
  return bytes
}

/// Returns `bytes` in lower-case hexadecimal digits.
func hexDigits(_ bytes: some Sequence<UInt8>) -> String {
  String(
    decoding: bytes.flatMap { [lowerHexDigits[Int($0 >> 4)], lowerHexDigits[Int($0 & 15)]] },
    as: UTF8.self)
}

let lowerHexDigits = Array("0123456789abcdef".utf8)
let upperHexDigits = Array("0123456789ABCDEF".utf8)

/// Returns the value of a hex digit in either case.
package func hexValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}

/// Decodes hexadecimal digits; returns nil for anything else.
func hexDecoded(_ text: some Collection<UInt8>) -> [UInt8]? {
  var digits = text.makeIterator()
  var bytes: [UInt8] = []
  bytes.reserveCapacity(text.count / 2)
  while let high = digits.next() {
    guard let low = digits.next(), let upper = hexValue(high), let lower = hexValue(low) else {
      return nil
    }
    bytes.append(upper << 4 | lower)
  }
  return bytes
}
