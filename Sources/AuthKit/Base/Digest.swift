internal import Crypto

/// SHA-256 of `bytes` (FIPS 180-4), in lower-case hexadecimal digits.
func sha256Hex(_ bytes: [UInt8]) -> String { hexDigits(SHA256.hash(data: bytes)) }
