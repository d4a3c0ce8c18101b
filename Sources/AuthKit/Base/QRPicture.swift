internal import CQRencode

/// A QR code (ISO/IEC 18004) of half blocks for a terminal: the only access to libqrencode.
package enum QRPicture {
  /// Modules of light around the code, as the standard requires.
  private static let margin = 4

  /// Returns the lines of the picture of `text`, one column for each module. They draw what is
  /// light: the picture is right on a dark background.
  ///
  /// - Throws: `failed` without libqrencode, and for a text that is too long for a code.
  package static func lines(of text: String) throws(Failure) -> [String] {
    guard let library = authctl_qrencode()?.pointee else {
      throw .missingLibrary(
        .failed, "--qr: libqrencode", package: "libqrencode4",
        reason: String(cString: authctl_qrencode_error()))
    }
    let (level, mode) = (Int32(QR_ECLEVEL_L), Int32(QR_MODE_8))
    guard let code = library.QRcode_encodeString(text, 0, level, mode, 1) else {
      throw Failure(.failed, "--qr: the address is too long for a QR code")
    }
    defer { library.QRcode_free(code) }
    let (width, data) = (Int(code.pointee.width), code.pointee.data)
    func isLight(_ row: Int, _ column: Int) -> Bool {
      let inside = 0..<width
      guard inside.contains(row), inside.contains(column) else { return true }
      return data[row * width + column] & 1 == 0
    }
    let places = (-margin)..<(width + margin)
    return stride(from: places.lowerBound, to: places.upperBound, by: 2).map { row in
      places.map { column in
        switch (isLight(row, column), isLight(row + 1, column)) {
        case (true, true): "\u{2588}"
        case (true, false): "\u{2580}"
        case (false, true): "\u{2584}"
        case (false, false): " "
        }
      }.joined()
    }
  }
}
