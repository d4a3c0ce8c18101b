internal import AuthKit

/// The progress line of a long transfer: drawn after one second, on a terminal, and erased at the
/// end, or at the answer that the same terminal shows.
final class Progress {
  private struct Sample {
    var time: Double
    var bytes: Int
  }

  private let console: Console
  private let began = Clock.now().seconds
  private var isOver = false
  /// Whether the terminal shows the answer: only an upload has a line.
  let isForUpload: Bool
  private var isUpload = false
  private var samples: [Sample] = []

  /// Returns nil when no line is drawn.
  init?(_ console: Console, savesBody: Bool, sendsBody: Bool) {
    isForUpload = console.isOutTerminal && !savesBody
    guard console.isErrTerminal, !isForUpload || sendsBody else { return nil }
    self.console = console
  }

  /// Updates the line with the bytes received and sent, and their totals if known.
  func update(_ received: Int, _ all: Int?, _ sent: Int, _ allSent: Int?) {
    let now = Clock.now().seconds
    guard !isOver, now - began >= 1 else { return }
    let sends = received == 0 && sent > 0
    if sends != isUpload { samples = [] }
    isUpload = sends
    let (bytes, total) = sends ? (sent, allSent) : (received, all)
    if let last = samples.last, now - last.time < 0.25 { return }
    samples = samples.suffix(12) + [Sample(time: now, bytes: bytes)]
    console.passing(line(bytes, total, since: now - began))
  }

  /// Erases the line and draws nothing afterwards.
  func end() {
    isOver = true
    console.passing(nil)
  }

  private func line(_ bytes: Int, _ total: Int?, since seconds: Double) -> String {
    guard bytes > 0, !isUpload || bytes != total else {
      return "waiting for the answer, \(Self.span(seconds))"
    }
    var text = (isUpload ? "sent " : "received ") + Self.size(Double(bytes))
    if let total, total >= bytes {
      text += " of \(Self.size(Double(total))) (\(Int(Double(bytes) / Double(total) * 100))%)"
    }
    guard let first = samples.first, let last = samples.last, last.time > first.time else {
      return text
    }
    let speed = Double(last.bytes - first.bytes) / (last.time - first.time)
    text += ", \(Self.size(max(0, speed)))/s"
    if let total, total > bytes, speed > 0 {
      text += ", \(Self.span((Double(total - bytes) / speed).rounded(.up))) left"
    }
    return text
  }

  /// Returns `512 B` or `1.5 MB`: decimal units, a number of at most four characters.
  static func size(_ bytes: Double) -> String {
    var value = bytes
    var unit = "B"
    for next in ["kB", "MB", "GB", "TB"] where value >= 1000 {
      value /= 1000
      unit = next
    }
    guard unit != "B", value < 100 else { return "\(Int(value)) \(unit)" }
    let tenths = Int(value * 10)
    return "\(tenths / 10).\(tenths % 10) \(unit)"
  }

  /// `42 s`, `4:02 min`, `1:30 h`.
  private static func span(_ seconds: Double) -> String {
    func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let whole = Int(min(seconds, 1e7))
    if whole < 60 { return "\(whole) s" }
    if whole < 3600 { return "\(whole / 60):\(padded(whole % 60)) min" }
    return "\(whole / 3600):\(padded(whole / 60 % 60)) h"
  }
}
