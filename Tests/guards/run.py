#!/usr/bin/env python3
"""Plants the faults of faults.toml in a copy of the sources, and runs the tests that must notice them.

    run.py --check                          only checks that the table fits the sources and tests
    run.py --copy FOLDER [--only NAME]...   builds in FOLDER and runs the tests, which are built

The sources have no test code: each fault is a text of theirs and its replacement. All are compiled
into one program, and a file beside it names the one that is on: tests start the program with an
environment of their own. The copy has the tests of AuthKit, too; those of the program are the usual
ones. First the tests must pass without a fault; then, for each fault, one of its own must fail.
Exits with 1 if a fault is noticed by none.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# What the copy needs of the repository.
COPIED = ["Package.resolved", "Plugins", "Sources", "Tests/AuthKitTests", "Tests/Fixtures"]
# What its manifest does not need, each with one match.
CUT = [r'\n    \.executable\(name: "DemoAPI".*?\),',
       r'\n    \.executableTarget\(\n      name: "DemoAPI",.*?\n    \),',
       r'\n    \.testTarget\(\n      name: "EndToEndTests",.*?\n    \),',
       r'\n    //[^\n]*\n    \.testTarget\(\n      name: "FuzzTests",.*?importsSecretHeaders\]\),',
       r'\n// `make fuzz`.*\Z']
# What SwiftPM has fetched: the copy fetches nothing.
FETCHED = ["checkouts", "repositories", "workspace-state.json"]
# Seconds for the tests of one fault. A test that hangs must end by its own limit.
LONGEST = 300

SWITCH = """internal import Glibc

/// The fault of Tests/guards/faults.toml that is on.
package enum Fault {{
  private static let name: String = {{
    guard let file = fopen("{path}", "re") else {{ return "" }}
    defer {{ fclose(file) }}
    var bytes = [UInt8](repeating: 0, count: 256)
    return String(decoding: bytes[..<fread(&bytes, 1, bytes.count, file)], as: UTF8.self)
  }}()

  package static func isOn(_ fault: String) -> Bool {{ fault == name }}
}}
"""


def main():
    parser = argparse.ArgumentParser(description="Takes guards away, and runs their tests.")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--copy", metavar="FOLDER")
    parser.add_argument("--only", action="append", metavar="NAME")
    options = parser.parse_args()
    with open(HERE + "/faults.toml", "rb") as table:
        faults = tomllib.load(table)["fault"]
    mutants = planted(faults)
    manifest()
    print(f"{len(faults)} faults fit the sources and tests")
    if options.check:
        return
    if options.only:
        faults = [fault for fault in faults if fault["name"] in options.only]
    if not faults:
        sys.exit("guards: no such fault")
    sys.exit(Copy(os.path.abspath(options.copy), mutants).try_all(faults))


def planted(faults):
    """Returns the sources with all faults; exits with 1 if a fault does not fit."""
    mutants, mistakes = {}, []
    known = tests()
    for name, count in counted(fault["name"] for fault in faults):
        if count > 1:
            mistakes.append(f"{name}: two faults have this name")
    for fault in faults:
        for edit in fault.get("edits", [fault]):
            path = "Sources/" + edit["file"]
            with open(f"{ROOT}/{path}") as file:
                original = file.read()
            text = mutants.get(path, original)
            # A text may not be a part of another fault's, either.
            if original.count(edit["old"]) != 1 or text.count(edit["old"]) != 1:
                mistakes.append(f"{fault['name']}: {path} does not have this text exactly once:\n"
                                + edit["old"])
            elif "FAULT" not in edit["new"]:
                mistakes.append(f"{fault['name']}: FAULT is missing")
            else:
                switch = f'Fault.isOn("{fault["name"]}")'
                mutants[path] = text.replace(edit["old"], edit["new"].replace("FAULT", switch))
        mistakes += [f"{fault['name']}: there is no test {test}" for test in fault["tests"]
                     if test not in known]
        if not fault["tests"]:
            mistakes.append(f"{fault['name']}: it has no test")
    if mistakes:
        sys.exit("guards: " + "\nguards: ".join(mistakes))
    return mutants


def manifest():
    """Returns the package without the tests of the program."""
    with open(ROOT + "/Package.swift") as file:
        text = file.read()
    for part in CUT:
        text, count = re.subn(part, "", text, flags=re.DOTALL)
        if count != 1:
            sys.exit(f"guards: Package.swift does not have this exactly once: {part}")
    for path in re.findall(r'\n      [^/\n]*path: "(Tests/[^"]*)"', text):
        if path not in COPIED:
            sys.exit(f"guards: Package.swift needs {path}, which is not copied")
    return text


def counted(names):
    names = list(names)
    return [(name, names.count(name)) for name in sorted(set(names))]


def tests():
    """Returns the names of all tests, SUITE/TEST, with the folder of each."""
    found, suite = {}, ""
    for folder in ["AuthKitTests", "EndToEndTests"]:
        for where, _, names in os.walk(f"{ROOT}/Tests/{folder}"):
            for name in names:
                if name.endswith(".swift"):
                    with open(f"{where}/{name}") as file:
                        for line in file:
                            if match := re.match(r"(?:@Suite.* )?(?:extension|struct) (\w+)", line):
                                suite = match[1]
                            elif match := re.search(r"\bfunc (\w+)\(", line):
                                found[f"{suite}/{match[1]}"] = folder
    return found


class Copy:
    def __init__(self, folder, mutants):
        self.folder = folder
        self.switch = folder + "/fault"
        self.log = folder + "/log"
        sources = {path: text.encode() for path, text in mutants.items()}
        sources["Sources/AuthKit/Base/Fault.swift"] = SWITCH.format(path=self.switch).encode()
        sources["Package.swift"] = manifest().encode()
        for name in COPIED:
            self.copy(name, sources)
        for path, text in sources.items():
            self.write(path, text)
        for name in FETCHED:
            of_root, own = f"{ROOT}/.build/{name}", f"{folder}/.build/{name}"
            if os.path.exists(own):
                continue
            if os.path.isdir(of_root):
                shutil.copytree(of_root, own, symlinks=True)
            elif os.path.exists(of_root):
                shutil.copy(of_root, own)

    def copy(self, name, except_for):
        for where, folders, names in os.walk(f"{ROOT}/{name}"):
            folders[:] = [folder for folder in folders if folder != "__pycache__"]
            below = os.path.relpath(where, ROOT)
            kept = {os.path.basename(path) for path in except_for if os.path.dirname(path) == below}
            # A file that is gone from the sources would still be compiled.
            if os.path.isdir(f"{self.folder}/{below}"):
                for old in set(os.listdir(f"{self.folder}/{below}")) - {*names, *folders} - kept:
                    path = f"{self.folder}/{below}/{old}"
                    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
            for file in set(names) - kept:
                self.copy_file(f"{below}/{file}")
        if os.path.isfile(f"{ROOT}/{name}"):
            self.copy_file(name)

    def copy_file(self, path):
        with open(f"{ROOT}/{path}", "rb") as file:
            self.write(path, file.read())
        shutil.copymode(f"{ROOT}/{path}", f"{self.folder}/{path}")

    def write(self, path, content):
        """Writes a file unless it is the same, so that only what has changed is compiled."""
        place = f"{self.folder}/{path}"
        if os.path.exists(place):
            with open(place, "rb") as file:
                if file.read() == content:
                    return
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "wb") as file:
            file.write(content)

    def try_all(self, faults):
        """Returns the exit status."""
        if os.path.exists(self.log):
            os.unlink(self.log)
        self.turn("")
        build = ["swift", "build", "--build-tests"]
        subprocess.run(build, cwd=self.folder, stdin=subprocess.DEVNULL, check=True)
        self.program = subprocess.run(build + ["--show-bin-path"], cwd=self.folder, check=True,
                                      capture_output=True, text=True).stdout.strip() + "/authctl"
        wanted = sorted({test for fault in faults for test in fault["tests"]})
        run = self.run(wanted)
        if not run.passed or run.count != len(wanted):
            print(f"guards: without a fault, {run.count} of {len(wanted)} tests ran; failed: "
                  f"{', '.join(sorted(run.failed)) or 'none'}. The log is {self.log}")
            return 1
        print(f"{run.count} tests pass without a fault\n")
        row = "{:28} {:5} {}"
        print(row.format("Fault", "Rule", "Noticed by"), flush=True)
        survivors = 0
        for fault in faults:
            self.turn(fault["name"])
            run = self.run(fault["tests"])
            noticed = ", ".join(sorted(run.failed))
            if not noticed:
                survivors += 1
                noticed = "NO TEST (one hangs)" if run.hung else "NO TEST"
            print(row.format(fault["name"], fault["rule"], noticed), flush=True)
        self.turn("")
        print(f"\n{len(faults)} faults, {survivors} survived. The log is {self.log}")
        return 1 if survivors else 0

    def turn(self, name):
        with open(self.switch, "w") as file:
            file.write(name)
        with open(self.log, "a") as log:
            log.write(f"\n=== {name or 'no fault'}\n")

    def run(self, names):
        """Runs these tests: those of AuthKit in the copy, the others with its program."""
        known, result = tests(), Run()
        for target, folder in [("AuthKitTests", self.folder), ("EndToEndTests", ROOT)]:
            own = "|".join(re.escape(name) for name in names if known[name] == target)
            if own:
                self.run_in(folder, rf"^{target}\.({own})\(", result)
        return result

    def run_in(self, folder, pattern, result):
        child = subprocess.Popen(
            ["swift", "test", "--skip-build", "--parallel", "--filter", pattern], cwd=folder,
            env={**os.environ, "AUTHCTL_BINARY": self.program}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True)
        try:
            output, _ = child.communicate(timeout=LONGEST)
            result.passed = result.passed and child.returncode == 0
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, _ = child.communicate()
            result.passed, result.hung = False, True
        with open(self.log, "a") as log:
            log.write(output)
        result.failed |= set(re.findall(r"✘ Test (\w+)\(.*?\) (?:.*? )?failed after", output))
        result.count += max(map(int, re.findall(r"Test run with (\d+) tests?", output)), default=0)


class Run:
    """What tests have shown."""

    def __init__(self):
        self.passed, self.hung = True, False
        self.failed, self.count = set(), 0


if __name__ == "__main__":
    main()
