#!/usr/bin/env python3
"""Generates TOML documents, and reads them with tomllib to compare authctl's reader with it.

    toml_oracle.py SEED COUNT

Makes COUNT documents, valid and invalid, always the same for one SEED. Prints a line for each: its
bytes in hexadecimal, a blank, and the tree that tomllib reads, in the format of
TOMLOracleTests.swift:

    {key:value,…} [value,…] s(text) i(number) f(bits) T F and dates by their kind: o l d t
    !       for a document that is not TOML

Texts and keys are hexadecimal too. Differences between tomllib and authctl's TOML 1.0:

  - tomllib reads integers beyond 64 bits, which are an error in TOML, and any depth of nesting,
    which authctl limits. Both are printed as `!`.
  - Its dates have no year 0000, which RFC 3339 allows: such documents are not generated.
"""

import datetime
import random
import struct
import sys
import tomllib

MAXIMUM_DEPTH = 64

KEYS = ["a", "b", "c", "d", "a", "b", "a1", "-", "_", "1", "0b", "true", "inf", '""', "''", '"a"',
        "'b'", '"a.b"', '"\\u0061"', '"\\n"', '"é"', '"e\\u0301"', "'\\'", '"\\U0001F600"', "ключ"]

SCALARS = [
    "0", "1", "-1", "+1", "-0", "1_000", "01", "1__0", "_1", "1_", "0x", "0xFF", "0xff_0", "0x_1",
    "-0x1", "0o17", "0o8", "0b10", "0b2", "0B1", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "0x7fffffffffffffff", "0x8000000000000000",
    "0.0", "-0.0", "1.5", "1.", ".5", "1.e1", "1e5", "1E+5", "1e-05", "1e400", "1e-400", "5e-324",
    "1_0.0_1e1_0", "1.7976931348623157e308", "0.1", "6.02_2e23", "1._5", "1e", "00.5", "1.2.3",
    "inf", "+inf", "-inf", "nan", "+nan", "-nan", "Inf", "infinity", "++1", "+", "-", "e1", "1e5.5",
    "true", "false", "True", "TRUE", "truefalse", "tru", "null", "yes", "x",
    "1979-05-27", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00", "1979-05-27t07:32:00.999999z",
    "1979-05-27T00:32:00-07:00", "1979-05-27T00:32:00.5+23:59", "07:32:00", "00:00:00.000001234",
    "2000-02-29", "1900-02-29", "2024-02-30", "2023-02-29", "2024-13-01", "2024-04-31", "24:00:00",
    "23:59:60", "23:60:00", "1979-05-27T", "1979-05-27T:", "2024-01-01 5", "1979-05-27 ", "7:32:00",
    "07:32", "1979-05-27T07:32", "1979-5-7", "1979-05-27T07:32:00+24:00", "1979-05-27T07:32:00.",
    "1979-05-27T07:32:00+0100", "12345-01-01", "1979-05-27  07:32:00", "1979-05-27T07:32:00 Z",
    '""', "''", '"a"', "'a'", '"\\b\\t\\n\\f\\r\\"\\\\"', '"\\u00e9\\U00010FFFF"', '"\\uD800"',
    '"\\U00110000"', '"\\u12"', '"\\x41"', '"\\e"', '"\\/"', '"a', "'a", '"a\nb"', "'a\nb'",
    '"\t"', '"\x7f"', '"\x01"', "'\x1f'", '"\u0085\u2028"', '"""a"""', "'''a'''", '"""\na\n"""',
    "'''\na\n'''", '"""\r\na\r\nb"""', '"""a\rb"""', '"""a\\\n   b"""', '"""a\\ \t\n \n b"""',
    '"""a\\ b"""', '"""a\\', '""""a"""', '"""a""""', '"""a"""""', '"""a""""""', "''''a''''",
    "'''a'''''", "'''a''''''", '"""""', '""""""', '"""a', "'''a", '"""\\"""', '"""\\""""',
    '"""\x0b"""', '"""a\\\r\n  b"""', '"\\ "', '"é"', '"\U0001F600"', '"#"', "'['", "",
]

BLANKS = ["", "", "", " ", "  ", "\t", " \t "]
ENDS = ["\n", "\n", "\n", "\n", "\r\n", "\n\n", " # c\n", "#é\r\n", "\r", "", " \n", "#\x01\n", ","]
PIECES = ["[", "]", "{", "}", "=", ".", ",", "#", "\n", "\r", "\r\n", '"', "'", '"""', "'''", "\\",
          " ", "\t", "0", "_", "-", "+", ":", "T", "Z", "e", "a", "u0041", "\0", "\x7f", "é",
          "\ufeff", "\u00a0", "a=1\n", "[a]\n", "[[a]]\n", "a.b=1\n", "[a.b]\n", "a={}\n", "{b=1}"]
RAW = [b"\x80", b"\xc3", b"\xed\xa0\x80", b"\xff", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]


class Maker:
    """Makes documents; most are almost valid, which tests the edge cases."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.last = b""

    def blank(self):
        return self.random.choice(BLANKS)

    def key(self):
        count = self.random.choice([1, 1, 1, 1, 2, 2, 3, 4])
        parts = [self.random.choice(KEYS[:6] if self.random.random() < 0.7 else KEYS)
                 for _ in range(count)]
        return (self.blank() + "." + self.blank()).join(parts)

    def scalar(self):
        chance = self.random.random()
        if chance < 0.7:
            return str(self.random.randrange(10))
        if chance < 0.94:
            return self.random.choice(SCALARS)
        if chance < 0.96:
            return repr(self.random.uniform(-1, 1) * 10.0 ** self.random.randrange(-320, 309))
        if chance < 0.98:
            return "%04d-%02d-%02d%s%02d:%02d:%02d%s" % (
                self.random.choice([1, 4, 100, 400, 1970, 2023, 2024, 9999]),
                self.random.randrange(14), self.random.randrange(33),
                self.random.choice("Tt  x"), self.random.randrange(26), self.random.randrange(62),
                self.random.randrange(62), self.random.choice(["", "Z", "-08:00", ".125", ".1234567z"]))
        return "".join(self.random.choice("0123456789_.eE+-xob:TZ") for _ in range(
            self.random.randrange(1, 12)))

    def value(self, depth=0):
        chance = self.random.random()
        if depth > 3 or chance < 0.65:
            return self.scalar()
        count = self.random.choice([0, 1, 1, 2, 2, 3])
        if chance < 0.82:
            space = lambda: self.random.choice([*BLANKS, "\n", " # c\n", "\r\n"])
            items = [space() + self.value(depth + 1) + space() for _ in range(count)]
            end = self.random.choice(["", "", ",", ",\n", ",,"]) if count else space()
            return "[" + ",".join(items) + end + "]"
        items = [self.blank() + self.pair(depth + 1) + self.blank() for _ in range(count)]
        return "{" + ",".join(items) + self.random.choice([""] * 9 + [",", "\n"]) + "}"

    def pair(self, depth=0):
        return self.key() + self.blank() + "=" + self.blank() + self.value(depth)

    def statement(self):
        chance = self.random.random()
        if chance < 0.18:
            return "[" + self.blank() + self.key() + self.blank() + "]"
        if chance < 0.3:
            return "[[" + self.blank() + self.key() + self.blank() + "]]"
        if chance < 0.33:
            return self.random.choice(["", "# c", "#\t\u00e9", "[]", "[[]]", "[ [a]]", "[[a] ]", "[a",
                                       "= 1", "a", "a.", ".a = 1", "a..b = 1", "a = ", "[a.]"])
        return self.pair()

    def nested(self):
        depth = self.random.choice([1, 30, 61, 62, 63, 64, 65, 66, 100, 300])
        opening, closing = self.random.choice([("[", "]"), ("{a=", "}"), ("[{a=", "}]")])
        form = self.random.randrange(4)
        if form == 0:
            return "[" + "a." * depth + "a]\n"
        if form == 1:
            return "a." * depth + "a = 1\n"
        if form == 2:
            return "[[" + "a." * (depth // 2) + "a]]\nb.c = [1]\n"
        return "a = " + opening * depth + self.random.choice(["", "1"]) + closing * depth + "\n"

    def text(self):
        if self.random.random() < 0.01:
            return self.nested()
        text = ""
        for _ in range(self.random.choice([1, 1, 2, 3, 4, 6])):
            end = self.random.choice(ENDS) if self.random.random() < 0.2 else "\n"
            text += self.blank() + self.statement() + end
        return text

    def mutated(self, data):
        data = bytearray(data)
        for _ in range(self.random.choice([1, 1, 2, 3])):
            at = self.random.randrange(len(data) + 1)
            end = min(len(data), at + self.random.choice([1, 1, 2, 5, 20]))
            form = self.random.randrange(7)
            if form == 0:
                del data[at:end]
            elif form == 1:
                data[at:at] = self.random.choice(PIECES).encode()
            elif form == 2:
                data[at:end] = self.random.choice(PIECES).encode()
            elif form == 3:
                data[at:at] = data[at:end]
            elif form == 4:
                data[at:at] = self.last[:self.random.randrange(len(self.last) + 1)]
            elif form == 5 and self.random.random() < 0.2:
                data[at:at] = self.random.choice(RAW)
            else:
                data[at:end] = bytes([self.random.randrange(128)])
        return bytes(data)

    def document(self):
        data = self.text().encode()
        if self.random.random() < 0.3:
            data = self.mutated(data)
        self.last = data[:200]
        return data


def hexadecimal(text):
    return text.encode().hex()


def clock(value):
    """The value without trailing zeros in its fraction."""
    text = value.replace(tzinfo=None).isoformat()
    return text.rstrip("0") if "." in text else text


def canonical(value, depth=0):
    """The value as printed; ValueError for values that TOML 1.0 or authctl does not allow."""
    if depth > MAXIMUM_DEPTH:
        raise ValueError("too deep")
    if isinstance(value, dict):
        return "{" + ",".join(hexadecimal(key) + ":" + canonical(item, depth + 1)
                              for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(item, depth + 1) for item in value) + "]"
    if isinstance(value, str):
        return "s" + hexadecimal(value)
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, int):
        if not -2**63 <= value < 2**63:
            raise ValueError("beyond 64 bits")
        return "i%d" % value
    if isinstance(value, float):
        return "fnan" if value != value else "f%x" % struct.unpack(">Q", struct.pack(">d", value))
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            return "l" + clock(value)
        minutes = value.utcoffset() // datetime.timedelta(minutes=1)
        return "o%s%+d" % (clock(value), minutes)
    return ("d" + value.isoformat()) if isinstance(value, datetime.date) else "t" + clock(value)


def verdict(data):
    try:
        return canonical(tomllib.loads(data.decode()))
    except (ValueError, RecursionError):
        return "!"


def main():
    if sys.version_info >= (3, 15):
        sys.exit("toml_oracle.py: tomllib reads TOML 1.1 from Python 3.15 on")
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    maker = Maker(seed)
    while count > 0:
        data = maker.document()
        if b"0000-" in data:
            continue
        print(data.hex(), verdict(data))
        count -= 1


main()
