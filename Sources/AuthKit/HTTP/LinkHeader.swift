/// The header Link (RFC 8288, section 3): `<target>; rel="next"; title="a, b", <target>; …`.
package enum LinkHeader {
  /// Returns the target of the first link with the relation `next`, as the server wrote it.
  ///
  /// Skips a link with `anchor`, which is about another document.
  ///
  /// - Parameter values: the values of all Link headers of an answer.
  package static func next(in values: [String]) -> String? {
    for value in values {
      var scan = Scan(bytes: Array(value.utf8)[...])
      while let link = scan.link() {
        let relations = (link.parameters.first { $0.name == "rel" }?.value ?? "").asciiLowercased
        let isNext = relations.utf8.split(separator: 0x20).contains {
          $0.elementsEqual("next".utf8)
        }
        if isNext, !link.parameters.contains(where: { $0.name == "anchor" }) { return link.target }
      }
    }
    return nil
  }

  private struct Link {
    var target: String
    var parameters: [(name: String, value: String)] = []
  }

  /// Reads links from the left, up to the first text that is not a link.
  private struct Scan {
    var bytes: ArraySlice<UInt8>

    mutating func link() -> Link? {
      skipBlanks(and: UInt8(ascii: ","))
      guard skip(UInt8(ascii: "<")), let end = bytes.firstIndex(of: UInt8(ascii: ">")) else {
        return nil
      }
      var link = Link(target: String(decoding: bytes[..<end], as: UTF8.self).trimmingSpaces)
      bytes = bytes[(end + 1)...]
      while true {
        skipBlanks()
        guard skip(UInt8(ascii: ";")) else { return link }
        skipBlanks()
        let name = word().asciiLowercased
        skipBlanks()
        var value = ""
        if skip(UInt8(ascii: "=")) {
          skipBlanks()
          value = skip(UInt8(ascii: "\"")) ? bytes.popQuoted() : word()
        }
        if !name.isEmpty { link.parameters.append((name, value)) }
      }
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
      guard bytes.first == byte else { return false }
      bytes = bytes.dropFirst()
      return true
    }

    private mutating func skipBlanks(and further: UInt8 = 0x20) {
      bytes = bytes.drop { $0 == 0x20 || $0 == 0x09 || $0 == further }
    }

    private mutating func word() -> String {
      let word = bytes.prefix { !" \t;,=\"".utf8.contains($0) }
      bytes = bytes.dropFirst(word.count)
      return String(decoding: word, as: UTF8.self)
    }
  }
}
