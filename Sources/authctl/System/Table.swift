internal import AuthKit

/// A table for people: padded by display width, two blanks between columns, a mark on the default.
struct Table {
  /// The names above the columns.
  var header: [String]?
  private var rows: [(marked: Bool, cells: [String])] = []

  init(header: [String]? = nil) { self.header = header }

  /// Adds a row; `marked` puts `* ` in front of it.
  mutating func add(_ cells: [String], marked: Bool = false) {
    rows.append((marked, cells.map { DisplayText.oneLine($0) }))
  }

  /// The lines, header first.
  var lines: [String] {
    let all = (header.map { [(marked: false, cells: $0)] } ?? []) + rows
    var widths: [Int] = []
    for row in all {
      for (column, cell) in row.cells.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], Self.width(of: cell))
      }
    }
    return all.map { row in
      var line = row.marked ? "* " : "  "
      for (column, cell) in row.cells.enumerated() {
        line += cell
        // If the rest of the row is empty, add no blanks at the end of the line.
        guard row.cells[(column + 1)...].contains(where: { !$0.isEmpty }) else { break }
        line += String(repeating: " ", count: widths[column] - Self.width(of: cell) + 2)
      }
      return line
    }
  }

  /// Returns the columns that `text` takes on a terminal: none for combining marks, two for East
  /// Asian wide characters and emoji (Unicode Standard Annex 11).
  static func width(of text: String) -> Int {
    text.unicodeScalars.reduce(0) { sum, scalar in
      switch scalar.value {
      case 0..<0x300: return sum + 1
      case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F,
        0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD:
        return sum + 2
      default:
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return sum
        default: return sum + 1
        }
      }
    }
  }
}
