/// `count` bytes from the system's generator, as hex digits.
func randomHex(bytes count: Int) -> String {
  var generator = SystemRandomNumberGenerator()
  return hexDigits((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
}

/// `bytes` in lower-case hexadecimal digits.
func hexDigits(_ bytes: some Sequence<UInt8>) -> String {
  let digits = Array("0123456789abcdef".utf8)
  return String(
    decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
