import Testing

@testable import AuthKit

private func failure(_ text: String) -> Failure? {
  do throws(Failure) {
    _ = try ShellWords(text)
    return nil
  } catch {
    return error
  }
}

@Suite struct ShellWordsTests {
  @Test(arguments: [
    ("", []), (" \n\t\n", []), ("curl x", ["curl", "x"]), ("  a\tb  c ", ["a", "b", "c"]),
    ("a ''", ["a", ""]), (#"a"b"'c'd"#, ["abcd"]), ("'a b'\t'$x `y` \\z'", ["a b", #"$x `y` \z"#]),
    ("'it'\\''s'", ["it's"]), (#"a\ b \'c \\ \$d \n"#, ["a b", "'c", #"\"#, "$d", "n"]),
    (#""a\"b\\c\$d\`e\nf""#, [#"a"b\c$d`e\nf"#]),
    ("\"a\nb\"", ["a\nb"]), ("\"a\\\nb\"", ["ab"]), ("a \\\n  b \\\r\n c", ["a", "b", "c"]),
    ("a\\\nb", ["ab"]), ("a \\  \n b \\", ["a", "b"]),
    ("# first\n\na # second\n# third", ["a"]), ("a#b '#c'", ["a#b", "#c"]),
    ("$ curl $ a$ \"b$\" \"$ \"", ["$", "curl", "$", "a$", "b$", "$ "]),
    ("a^b {c,d} *?[x] ~ !y \"!z\"", ["a^b", "{c,d}", "*?[x]", "~", "!y", "!z"]),
    ("$\"a b\"", ["a b"]), ("\u{FEFF}a\u{A0}b", ["a", "b"]),
    ("Gr\u{FC}n '\u{1F600}' a\u{301}", ["Gr\u{FC}n", "\u{1F600}", "a\u{301}"]),
    ("'\u{201C}a\u{2013}'b\u{2013}", ["\u{201C}a\u{2013}b\u{2013}"]),
    ("'a\u{1B}\u{7}b\r\n'", ["a\u{1B}\u{7}b\r\n"]),
  ])
  func splits(text: String, words: [String]) throws {
    #expect(try ShellWords(text).words == words)
  }

  @Test(arguments: [
    (#"$'a\'b'"#, "a'b"), (#"$'\u0021\u20AC\U0001F600'"#, "!\u{20AC}\u{1F600}"),
    (#"$'\ud83d\ude00'"#, "\u{1F600}"), (#"$'\041\0411\7'"#, "!!1\u{7}"),
    (#"$'\x21\x4a9\xg'"#, "!J9\\xg"), (#"$'\f\n\r\t\v'"#, "\u{C}\n\r\t\u{B}"),
    (#"$'\a\b\e\E\\\"\?\z'"#, "\u{7}\u{8}\u{1B}\u{1B}\\\"?\\z"),
    (#"$'\cA\c?'"#, "\u{1}\u{1F}"), (#"$'\u21z\uz'"#, "!z\\uz"), (#"a$'b'"c""#, "abc"),
    // UTF-8 as bytes, and the escapes that Firefox and Safari use for Latin-1 letters.
    (#"$'Gr\xc3\xbcn'"#, "Gr\u{FC}n"), (#"$'Gr\xfcn \xdf'"#, "Gr\u{FC}n \u{DF}"),
    (#"$'\xfc\u20ac'"#, "\u{FC}\u{20AC}"), (#"$'\303\274'"#, "\u{FC}"),
    (#"\#u{20AC}$'\xfc'"#, "\u{20AC}\u{FC}"),
  ])
  func ansiQuotes(text: String, word: String) throws {
    let words = try ShellWords(text).words
    #expect(words.map { Array($0.utf8) } == [Array(word.utf8)])
  }

  @Test(arguments: [
    ("curl x | jq .token", ["what stands behind |"]), ("curl x |& less", ["what stands behind |"]),
    ("curl x; rm -rf /", ["what stands behind ;"]), ("curl x ;\ncurl y", ["what stands behind ;"]),
    ("curl x && echo", ["what stands behind &"]), ("curl x & echo", ["what stands behind &"]),
    ("curl x;", []), ("curl x &\n", []), ("curl x\n\n# done\n", []),
    ("curl x\n{\"token\":\"t\"}", ["the lines below the command"]),
    ("curl x > out.txt", [">"]), ("curl x 2>/dev/null >'a b' | jq", [">", "what stands behind |"]),
    ("curl 2>&1 x", [">"]), ("curl >>log x", [">"]), ("curl &>log x", [">"]),
  ])
  func leavesOut(text: String, leftOut: [String]) throws {
    let line = try ShellWords(text)
    #expect(line.leftOut == leftOut)
    #expect(line.words == ["curl", "x"])
  }

  @Test func aNumberBelongsToARedirectionOnlyWhenItTouches() throws {
    #expect(try ShellWords("a 2 >f 3").words == ["a", "2", "3"])
    #expect(try ShellWords("a '2'>f b2>f").words == ["a", "2", "b2"])
  }

  @Test(arguments: [
    ("curl 'pw", "line 1: a ' that is not closed"),
    ("curl \\\n \"pw", "line 2: a \" that is not closed"),
    ("curl $'pw\\", "line 1: a $' that is not closed"),
    ("curl $'pw\\'", "line 1: a $' that is not closed"),
    ("curl $(pw)", "line 1: $( ), which Bash would run"),
    ("curl \"$(pw)\"", "line 1: $( ), which Bash would run"),
    ("curl $[pw]", "line 1: $( ), which Bash would run"),
    ("curl $pw", "line 1: a variable, which Bash would fill in"),
    ("curl \"a${pw}\"", "line 1: a variable, which Bash would fill in"),
    ("curl \"pw$$\"", "line 1: a variable, which Bash would fill in"),
    ("curl \"pw$1\"", "line 1: a variable, which Bash would fill in"),
    ("curl `pw`", "line 1: a backquote, which Bash would run"),
    ("curl \"`pw`\"", "line 1: a backquote, which Bash would run"),
    ("curl x `\n -H pw", "line 1: a ` as PowerShell writes it"),
    ("curl ^\"https://pw^\"", "line 1: a ^ as cmd.exe writes it"),
    ("curl \"x\" ^\r\n -H pw", "line 1: a ^ as cmd.exe writes it"),
    ("curl x?a=1&pw=2", "line 1: & outside of quotes, where the command ends"),
    ("curl -d @- <<EOF\npw", "line 1: < outside of quotes, which reads a file"),
    ("curl -u <pw>", "line 1: < outside of quotes, which reads a file"),
    ("curl (pw)", "line 1: a parenthesis outside of quotes"),
    ("curl x >", "line 1: > without a file's name"),
    ("curl x >$pw", "line 1: a variable, which Bash would fill in"),
    ("curl x\n  -H pw", "line 2: an option, but the line above does not go on"),
    ("curl \u{201C}pw\u{201D}", "line 1: a typographic quotation mark or dash"),
    ("curl x \u{2013}H", "line 1: a typographic quotation mark or dash"),
    ("curl \u{7}pw", "line 1: a control character outside of quotes"),
    ("curl 'x\n\0'", "line 2: a NUL byte"), (#"curl $'pw\0'"#, "line 1: a NUL byte in $'...'"),
    (#"curl $'pw\u0000'"#, "line 1: a NUL byte in $'...'"),
    (#"curl $'pw\ud83d'"#, "line 1: an escape in $'...' that is not a character"),
    (#"curl $'pw\ud83d\u0021'"#, "line 1: half a character in $'...'"),
    (#"curl $'pw\UFFFFFFFF'"#, "line 1: an escape in $'...' that is not a character"),
  ])
  func refuses(text: String, message: String) {
    let failure = failure(text)
    #expect(failure?.message == "the curl command, \(message)")
    #expect(failure?.kind == .usage)
    #expect(failure.map { !($0.message + ($0.hint ?? "")).contains("pw") } == true)
  }

  @Test func longTexts() throws {
    let most = ShellWords.maximumSize
    #expect(try ShellWords("'" + String(repeating: "a", count: most - 2) + "'").words.count == 1)
    #expect(try ShellWords(String(repeating: "a ", count: most / 2)).words.count == most / 2)
    #expect(try ShellWords(String(repeating: "\\\n", count: most / 2)).words == [])
    let escapes = String(repeating: #"\xfc"#, count: most / 4 - 1)
    #expect(try ShellWords("$'\(escapes)'").words.first?.utf8.count == 2 * (most / 4 - 1))
    #expect(failure(String(repeating: "a", count: most + 1))?.message.contains("1 MiB") == true)
    #expect(failure(String(repeating: "\"", count: most - 1)) != nil)
  }
}
