#!/usr/bin/env python3
"""Runs many authctl processes at a time while the keyring is restarted, killed, stopped, locked
and loses its bus; then with sealed files, while processes are killed.

    run.py --authctl PROGRAM --demo-api PROGRAM [--time SECONDS] [--processes N] [--seed N]
           [--store secret-service|file]

Each store has the whole time. judge.py says what must hold; exits with 1 if something does not. The
seed decides what each process runs and what happens when, but not how the system schedules it.
"""

import argparse
import os
import random
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../world")

from storm import Storm


def main():
    parser = argparse.ArgumentParser(description="Runs authctl while its store comes and goes.")
    parser.add_argument("--authctl", required=True)
    parser.add_argument("--demo-api", required=True)
    parser.add_argument("--time", type=float, default=600, metavar="SECONDS")
    parser.add_argument("--processes", type=int, default=50, metavar="N")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--store", action="append", choices=["secret-service", "file"])
    options = parser.parse_args()
    # The servers end with this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    stores = options.store or ["secret-service", "file"]
    problems = [problem for store in stores for problem in Storm(options, store).blow()]
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
