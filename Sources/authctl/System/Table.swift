internal import AuthKit

/// A table for people: padded by display width, two blanks between columns, a mark on the default.
struct Table {
  /// The width and the ellipsis of the terminal that a table is made for.
  struct Room {
    let columns: Int
    let ellipsis: String
  }

  /// The narrowest that a column becomes, and becomes before a command is left out.
  private static let narrowest = 8
  private static let besideCommand = 20

  /// The names above the columns.
  var header: [String]?
  /// The column of commands to paste, which are shown whole or not at all.
  var commands: Int?
  /// The colours of a column's cells, by their first words.
  var colours: (column: Int, words: [String: Colour]) = (0, [:])
  private var rows: [(marked: Bool, cells: [String])] = []

  init(header: [String]? = nil) { self.header = header }

  /// Adds a row; `marked` puts `* ` in front of it.
  mutating func add(_ cells: [String], marked: Bool = false) {
    rows.append((marked, cells.map { DisplayText.oneLine($0) }))
  }

  /// Returns the lines, header first.
  ///
  /// - Parameters:
  ///   - room: the terminal, in which no line wraps: the longest columns are shortened.
  ///   - usesColours: whether to use the colours.
  func lines(in room: Room? = nil, colours usesColours: Bool = false) -> [String] {
    var all = (header.map { [(marked: false, cells: $0)] } ?? []) + rows
    var widths = Self.widths(all.map(\.cells))
    if let room {
      if let commands {
        let limit = limits(widths, to: Self.besideCommand, in: room)[commands]
        for row in all.indices where Self.width(of: all[row].cells[commands]) > limit {
          all[row].cells[commands] = ""
        }
        widths = Self.widths(all.map(\.cells))
      }
      widths = limits(widths, to: Self.narrowest, in: room)
      for row in all.indices {
        for (column, cell) in all[row].cells.enumerated()
        where Self.width(of: cell) > widths[column] {
          all[row].cells[column] = Self.shortened(cell, to: widths[column], room.ellipsis)
        }
      }
    }
    return all.map { row in
      var line = row.marked ? "* " : "  "
      for (column, cell) in row.cells.enumerated() {
        line += usesColours && column == colours.column ? painted(cell) : cell
        // If the rest of the row is empty, add no blanks at the end of the line.
        guard row.cells[(column + 1)...].contains(where: { !$0.isEmpty }) else { break }
        line += String(repeating: " ", count: widths[column] - Self.width(of: cell) + 2)
      }
      return line
    }
  }

  private func painted(_ cell: String) -> String {
    let word = String(decoding: cell.utf8.prefix { $0 != UInt8(ascii: " ") }, as: UTF8.self)
    guard let colour = colours.words[word] else { return cell }
    return colour.painting(cell)
  }

  private static func widths(_ rows: [[String]]) -> [Int] {
    var widths: [Int] = []
    for cells in rows {
      for (column, cell) in cells.enumerated() {
        if column == widths.count { widths.append(0) }
        widths[column] = max(widths[column], width(of: cell))
      }
    }
    return widths
  }

  /// Returns the width that each column may have, so that a line has one column less than the
  /// terminal; no column becomes narrower than `least`, except that of the commands.
  private func limits(_ widths: [Int], to least: Int, in room: Room) -> [Int] {
    var limits = widths
    // Two blanks before each column.
    var excess = widths.reduce(0) { $0 + $1 + 2 } - (room.columns - 1)
    while excess > 0 {
      let others = limits.indices.filter { $0 != commands && limits[$0] > least }
      guard let longest = others.max(by: { limits[$0] < limits[$1] }) else { break }
      limits[longest] -= 1
      excess -= 1
    }
    if let commands, excess > 0 { limits[commands] = max(0, limits[commands] - excess) }
    return limits
  }

  /// Returns the beginning of `text` and `ellipsis`, in at most `limit` columns.
  private static func shortened(_ text: String, to limit: Int, _ ellipsis: String) -> String {
    var kept = String.UnicodeScalarView()
    var left = limit - width(of: ellipsis)
    for scalar in text.unicodeScalars {
      left -= width(of: String(scalar))
      guard left >= 0 else { break }
      kept.append(scalar)
    }
    return String(kept) + ellipsis
  }

  /// Returns the columns that `text` takes on a terminal: none for combining marks, two for East
  /// Asian wide characters and emoji (Unicode Standard Annex 11).
  static func width(of text: some StringProtocol) -> Int {
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
