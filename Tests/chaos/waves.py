#!/usr/bin/env python3
"""Runs many `authctl get` at an expired token, in waves of processes that start at once.

    waves.py --authctl PROGRAM --demo-api PROGRAM [--number N] [--size N]
             [--store secret-service|file]

Of each wave, every `get` succeeds, and the server sees one renewal. The waves take turns: in one
the server refuses the token and a recipe renews it; in the next authctl's clock says that it has
ended, and an authorization server renews it; then both with a renewal that takes half a second.
Prints the time of each thousand and of waves of other sizes: it grows in line with the number.
Exits with 1 if something does not hold.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../world")

from people import Account, CALM, profiles
from world import PASSWORD, World

# Processor time per `get` may differ by this factor: other programs share the caches.
SPREAD = 2.0

RENEWALS = {"shop": "/refresh", "cloud": "/token"}
ACCOUNTS = [Account(profile, f"{profile}0@example.com", stays=True) for profile in RENEWALS]


class Waves:
    def __init__(self, world, store):
        self.world = world
        self.store = store
        self.problems = []
        self.number = 0
        self.renewals = 0
        self.longest = 0

    def prepare(self):
        if self.store == "secret-service":
            self.world.start_keyring()
        self.world.reset(profiles(self.world.url), CALM)
        for account in ACCOUNTS:
            self.world.ask("POST", "/register", {
                "email": account.name, "password": PASSWORD, "name": account.name})
            self.run(account, "login")

    def run(self, account, command):
        run = self.world.finish([self.world.authctl] + account.words(command),
                                self.world.environment(self.store), account.stdin(command), 60)
        if run[0] != 0:
            raise RuntimeError(f"{command} ends with {run[0]}: {run[2]}")

    def expire(self, account):
        """Makes the token of an account end: at the server, or by its own time."""
        if account.profile == "shop":
            self.world.ask("POST", "/expire", {})
            return
        self.world.ask("POST", "/oauth-settings", {"token_ttl": 1})
        self.run(account, "refresh")
        self.world.ask("POST", "/oauth-settings", {"token_ttl": None})
        time.sleep(1.1)

    def wave(self, size):
        """Returns the seconds of one wave, and the processor's in its processes."""
        account = ACCOUNTS[self.number % 2]
        path = RENEWALS[account.profile]
        self.expire(account)
        if self.number % 4 >= 2:
            self.world.ask("POST", "/misbehave", {"path": path, "delay_ms": 500})
        self.number += 1
        before = self.world.requests().get(f"POST {path}", 0)
        words = ["get", "-p", account.profile, "-u", account.name, "/me"]
        spent, start = children_time(), time.monotonic()
        processes = [
            subprocess.Popen([self.world.authctl] + words, cwd=self.world.box + "/out",
                             env=self.world.environment(self.store), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(size)]
        for process in processes:
            try:
                out, err = process.communicate(timeout=120)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                self.problems.append(f"wave {self.number}: a get hangs")
            if process.returncode != 0 or err or not account.is_right("get", out):
                self.problems.append(f"wave {self.number}: {process.returncode} {out!r} {err!r}")
        seconds = time.monotonic() - start
        self.longest = max(self.longest, seconds)
        renewals = self.world.requests().get(f"POST {path}", 0) - before
        self.renewals += renewals
        if renewals != 1:
            self.problems.append(f"wave {self.number}: {renewals} renewals")
        return seconds, children_time() - spent


def children_time():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def row(name, sizes, times):
    """Prints a row of the table; returns the processor's seconds per get."""
    number, wall, spent = sum(sizes), *map(sum, zip(*times))
    print(f"{name:>24}{number:8}{wall:10.1f} s{spent:10.1f} s{1000 * wall / number:10.1f} ms"
          f"{1000 * spent / number:10.1f} ms", flush=True)
    return spent / number


def main():
    parser = argparse.ArgumentParser(description="Runs get at expired tokens, in waves.")
    parser.add_argument("--authctl", required=True)
    parser.add_argument("--demo-api", required=True)
    parser.add_argument("--number", type=int, default=10_000)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--store", default="secret-service", choices=["secret-service", "file"])
    options = parser.parse_args()
    with World(options.authctl, options.demo_api) as world:
        waves = Waves(world, options.store)
        waves.prepare()
        print(f"{options.store}\n{'waves':>24}{'gets':>8}{'time':>12}{'processor':>12}"
              f"{'per get':>13}{'processor':>13}")
        costs = []
        count = -(-options.number // options.size)
        # A few waves say nothing of the time.
        sizes = [options.size * part // 4 for part in (1, 2, 4, 8)] if count >= 10 else []
        for size in sizes:
            costs.append(row(f"4 of {size}", [size] * 4, [waves.wave(size) for _ in range(4)]))
        step = max(1, count // 10)
        for first in range(0, count, step):
            sizes = [options.size] * min(step, count - first)
            costs.append(row(f"{first + 1} to {first + len(sizes)} of {options.size}", sizes,
                             [waves.wave(size) for size in sizes]))
            if waves.problems:
                break
        problems = waves.problems
        if max(costs) > SPREAD * statistics.median(costs):
            problems.append("the time does not grow in line with the number")
        print(f"{waves.number} waves, {waves.renewals} renewals; the longest wave "
              f"{waves.longest:.1f} s; {len(problems)} findings")
        for problem in problems[:50]:
            print(f"- {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
