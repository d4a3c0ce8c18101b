#!/usr/bin/env python3
"""Runs authctl in valgrind over few and over many requests, documents and sessions: the bytes to
which nothing points at the end must not grow with their number.

    leaks.py --authctl PROGRAM --demo-api PROGRAM --logs FOLDER [--only NAME]

What a library loses once is lost in both runs. Reads and writes of memory that is not the program's
are findings as well. At first a library is loaded that loses 24 bytes with each message that it
sends: this check must find it. Exits with 1 if there is a finding.
"""

import argparse
import dataclasses
import os
import re
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "world"))
import world  # noqa: E402

LINES = ['"url":"/me"', '"method":"POST","url":"/echo","json":{"item":[1,2,"three"]}',
         '"url":"/missing"', '"url":"/gzip","headers":{"X-One":"1","X-Two":"2"}']


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    words: list
    """In which {n} and {half} are the number."""
    numbers: tuple = (10, 1000)
    store: str = "file"
    is_batch: bool = False
    """Whether the number is one of lines on standard input."""
    is_of_sessions: bool = False
    """Whether the number is one of sessions in the store."""
    status: int = 0


MIGRATE = ["store", "migrate", "--from"]
# A session needs a sign-in: fewer of them.
SESSIONS = 5, 105
CASES = [
    Case("batch", ["batch"], is_batch=True, status=4),
    Case("batch, one at a time", ["batch", "--parallel", "1"], is_batch=True, status=4),
    Case("jq", ["get", "/pages?n={half}", "--paginate", "--each", "/items", "--jq",
                '.id, {{a: [., "text"]}}, (try error("no") catch .)']),
    Case("sessions from the keyring to files", MIGRATE + ["secret-service", "--to", "file"],
         SESSIONS, "secret-service", is_of_sessions=True),
    Case("sessions from files to the keyring", MIGRATE + ["file", "--to", "secret-service"],
         SESSIONS, is_of_sessions=True),
]
PLANTED = Case("planted", ["batch"], (10, 100), is_batch=True, status=4)


def main():
    parser = argparse.ArgumentParser(description="Looks for leaks of authctl that grow.")
    for name in ["--authctl", "--demo-api", "--logs"]:
        parser.add_argument(name, required=True)
    parser.add_argument("--only", default="", help="cases with this in their name")
    options = parser.parse_args()
    options.logs = os.path.abspath(options.logs)
    os.makedirs(options.logs, exist_ok=True)
    leak = options.logs + "/leak.so"
    subprocess.run(["clang", "-shared", "-fPIC", "-O1", "-o", leak, here + "/leak.c"], check=True)
    if grown(PLANTED, options, leak) < 24 * 90:
        sys.exit("the planted leak is not found: this check finds nothing")
    findings = 0
    for case in CASES:
        if options.only in case.name:
            findings += grown(case, options) > 0
    return 1 if findings else 0


def grown(case, options, preload=None):
    """Runs the case with few and with many; returns the bytes that are lost with many only, plus
    the number of valgrind's other findings, and prints both."""
    results = []
    for number in case.numbers:
        log = f"{options.logs}/{case.name} {number}".replace(" ", "-").replace(",", "")
        run(case, number, options, log, preload)
        results.append(findings(log))
    (few, _), (many, errors) = results
    print(f"leaks: {case.name}: lost {few} bytes with {case.numbers[0]} and {many} with"
          f" {case.numbers[1]}; {errors} other findings", flush=True)
    return max(0, many - few) + errors


def run(case, number, options, log, preload):
    with world.World(options.authctl, options.demo_api) as place:
        place.start_keyring()
        # valgrind is slow.
        place.reset({"shop": world.PROFILE.format(url=place.url, account=world.ACCOUNT)},
                    'default_profile = "shop"\nstore_timeout = 120\nlock_timeout = 120\n')
        for account in range(number if case.is_of_sessions else 1):
            sign_in(place, case.store, account)
        variables = place.environment(case.store)
        if case.is_of_sessions:
            variables.pop("AUTHCTL_STORE", None)
        if preload:
            variables["LD_PRELOAD"] = preload
        words = [word.format(n=number, half=number // 2) for word in case.words]
        lines = [f'{{"id":{n},{LINES[n % len(LINES)]}}}\n' for n in range(number)]
        done = subprocess.run(
            ["valgrind", "--leak-check=full", "--num-callers=30", f"--log-file={log}",
             place.authctl] + words, env=variables, cwd=place.box + "/out",
            input="".join(lines if case.is_batch else []), capture_output=True, text=True,
            timeout=1200)
    if done.returncode != case.status:
        sys.exit(f"{case.name}: exit status {done.returncode}: {done.stderr[-2000:]}")
    if case.is_batch and len(done.stdout.splitlines()) != number:
        sys.exit(f"{case.name}: {len(done.stdout.splitlines())} answers to {number} requests")


def sign_in(place, store, number):
    account = world.ACCOUNT
    if number > 0:
        account = f"user{number}@example.com"
        place.ask("POST", "/register",
                  {"email": account, "password": world.PASSWORD, "name": "User"})
    done = subprocess.run(
        [place.authctl, "login", "-p", "shop", "-u", account, "--password-stdin"],
        env=place.environment(store), input=world.PASSWORD + "\n", capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the preparing sign-in failed: {done.stderr}")


def findings(log):
    """The bytes that are lost by a log of valgrind, those that only such bytes point to included,
    and the number of other errors."""
    text = open(log).read()
    found = [re.search(kind + r" lost: ([\d,]+) bytes", text)
             for kind in ("definitely", "indirectly")]
    if None in found:
        sys.exit(f"{log} has no summary of leaks")
    errors = re.findall(r"^==\d+== (?:Invalid|Use of uninit|Conditional jump|Syscall param|Source "
                        r"and dest|Mismatched|Process terminating)", text, re.MULTILINE)
    return sum(int(match[1].replace(",", "")) for match in found), len(errors)


if __name__ == "__main__":
    sys.exit(main())
