#!/usr/bin/env python3
"""Makes every system call of authctl's commands fail once, and checks what is left.

    run.py --authctl PROGRAM --demo-api PROGRAM [--quick] [--jobs N] [--only NAME] [--call NAME]
           [--log FILE]

Each command runs once without a fault, to count its system calls. Then it runs once for each of
plan.py's faults, as strace injects them, and checks.py says whether its invariants held. The Nth
call is counted in each thread for itself, as strace does. Exits with 1 if an invariant was broken.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../world")

import checks
import plan
import scenarios
from traced import TracedWorld

OUTCOMES = ["done", "failed", "killed", "no memory", "loader's", "library's",
            "program's", "unreal", "not reached", "crashed", "hung"]


def arguments():
    parser = argparse.ArgumentParser(description="Makes system calls of authctl fail.")
    parser.add_argument("--authctl", required=True)
    parser.add_argument("--demo-api", required=True)
    parser.add_argument("--quick", action="store_true", help="a few dozen faults, for make test")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", action="append", metavar="NAME",
                        help="the command of this name; may be repeated")
    parser.add_argument("--call", help="faults of this call")
    parser.add_argument("--log", help="write each run to this file")
    return parser.parse_args()


def main():
    options = arguments()
    # The servers end with this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        shim = folder + "/short_write.so"
        subprocess.run(["clang", "-shared", "-fPIC", "-O1", "-o", shim, HERE + "/short_write.c"],
                       check=True)
        worlds = queue.SimpleQueue()
        for _ in range(options.jobs):
            worlds.put(stack.enter_context(
                TracedWorld(options.authctl, options.demo_api, shim)))
        log = stack.enter_context(open(options.log or os.devnull, "w"))
        report = Report(log)
        pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
        stack.callback(pool.shutdown, cancel_futures=True)
        try:
            for scenario in scenarios.ALL:
                if (not options.only or scenario.name in options.only) and (
                        not options.quick or scenario.name in plan.QUICK):
                    run_scenario(scenario, options, pool, worlds, report)
        finally:
            report.show(time.monotonic() - start)
    return 1 if report.problems else 0


def run_scenario(scenario, options, pool, worlds, report):
    one = worlds.get()
    calm = checks.Calm(scenario, one)
    worlds.put(one)
    report.problems += [f"{scenario.name}: {problem}" for problem in calm.problems]
    plans = plan.quick(scenario.name, calm.calls) if options.quick else plan.faults(calm.calls)

    def run(fault):
        one = worlds.get()
        try:
            return fault, *checks.check(scenario, calm, fault, one)
        finally:
            worlds.put(one)

    chosen = [fault for fault in plans if options.call in (None, fault.call)]
    for fault, result, verdict in pool.map(run, chosen):
        report.add(scenario, fault, result, verdict)
    report.progress(scenario)


class Report:
    def __init__(self, log):
        self.log = log
        self.tables = collections.defaultdict(collections.Counter)
        self.windows = collections.Counter()
        self.problems = []
        self.slowest = 0
        self.runs = 0

    def add(self, scenario, fault, run, verdict):
        self.runs += 1
        self.slowest = max(self.slowest, run.seconds)
        for row in [("call", fault.call), ("command", scenario.name), ("error", fault.error)]:
            self.tables[row][verdict.outcome] += 1
            self.tables[row]["in window"] += verdict.in_window
            self.tables[row]["broken"] += bool(verdict.problems)
        where = " | ".join(run.injected[:3])
        line = (f"{scenario.name}: {fault}: {verdict.outcome} {run.status} {run.seconds:.1f} s"
                f"{' WINDOW' if verdict.in_window else ''}\n")
        self.log.write(f"{line}  at {where}\n  {run.err!r}\n")
        for problem in verdict.problems:
            self.problems.append(f"{scenario.name}: {fault}: {problem}\n    at {where[:400]}")
            self.log.write(f"  BROKEN {problem}\n")
        self.log.flush()

    def progress(self, scenario):
        print(f"{scenario.name}: {self.runs} runs, {len(self.problems)} findings so far",
              file=sys.stderr, flush=True)

    def show(self, seconds):
        columns = [name for name in OUTCOMES + ["in window", "broken"]
                   if any(counts[name] for counts in self.tables.values())]
        for kind in ("call", "error", "command"):
            rows = {name: counts for (of, name), counts in self.tables.items() if of == kind}
            print(f"\n{kind:24}" + "".join(f"{name:>12}" for name in ["runs"] + columns))
            for name, counts in sorted(rows.items()):
                runs = sum(counts[outcome] for outcome in OUTCOMES)
                print(f"{name:24}{runs:12}" + "".join(f"{counts[c]:12}" for c in columns))
        print(f"\n{self.runs} runs in {seconds:.0f} s, the longest {self.slowest:.1f} s; "
              f"{len(self.problems)} findings")
        for problem in self.problems:
            print(f"- {problem}")


if __name__ == "__main__":
    sys.exit(main())
