"""RESULTS.md: the tables of a run, and what stands behind them."""

import datetime
import os
import platform
import subprocess

HEAD = """# What authctl costs

Written by `make bench` on {date}: {cpu}, {cores} cores, {system}, {curl}. The commands of a group \
run in turn, A B A B; times are medians in milliseconds, wall time and processor time of the \
command and its children, and for 100 processes at once also of the bus and the keyring. A ratio is \
that of the first command of its group to this one.
"""

TABLES = {
    "times": """
## On one machine

| what | command | wall | processor | wall ratio | processor ratio | bound |
| --- | --- | ---: | ---: | ---: | ---: | --- |
""",
    "distances": """
## At a distance

The first request of a process, over a line that holds every packet back for half of the round trip.

| what | command | wall | processor | wall ratio | processor ratio | bound |
| --- | --- | ---: | ---: | ---: | ---: | --- |
""",
    "sizes": """
## Memory, instructions and size

| what | command | peak or size | difference | bound |
| --- | --- | ---: | ---: | --- |
"""}

NOTES = """
## What stands behind them

- On a machine that shares its processors with others, as this one, two runs differ by a tenth. On
  one that gives threads a processor each only while they have much to do, also as this one, what is
  loaded meanwhile is not free: ratios of wall time come near those of processor time.
- A program with Swift's runtime inside begins 1.2 ms later than one in C: 350 pages are touched and
  50 000 pointers set before `main`. Memory is of the same kind: of the 28 MiB, 10 are pages of the
  program itself, 4 GLib's and libsecret's, and 10 what curl has too. Neither grows with the length of
  a body nor with the number of requests.
- libcurl and its thirty libraries load in 5 ms. The options of a request are read meanwhile, which
  takes as long; with one processor it comes on top.
- Of the 10 ms that a look into the keyring takes, 7 go into the keys of its encrypted session, half
  of them in the keyring's own process. It begins before the options are read, libcurl is loaded
  while the keys are made: a thread cannot be made while a library is being loaded.
- The connection to another machine begins while the keyring is read, and carries nothing before
  that: 10 ms less of 62 at a distance of 20 ms by http, 10 of 109 by https. If the command has only
  a path and a profile, it begins before the options are read: 4 ms less. The main
  thread then gives way once: where threads share a processor while they have little to do, as here,
  the one that connects would otherwise begin no earlier.
- With TLS 1.2, as nginx 1.22 has it, a first request takes four round trips. At 100 ms curl adds 15 ms
  to them: 0.97 of it leaves no more than 3 ms to all else.
- `status` reads all sessions in one call to the keyring, and so takes two thirds of the time with
  seven of them.
- Over https the hashed folder of the system's authorities is looked into, 19 ms less than reading
  their bundle.
- The kernel here has no netem. The distances are two tun devices, one of them in a network of its
  own, and a process (`line.c`) that holds every packet back for half of the round trip; the row
  "handshake of TCP" says what a connection then takes.
- oidc-token asks oidc-agent, which has the token in its memory, unlocked since the agent began.
"""


def write(path, rows):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.machine())
    curl = subprocess.run(["curl", "--version"], capture_output=True, text=True).stdout
    with open(path, "w") as file:
        file.write(HEAD.format(
            date=datetime.date.today(), cpu=cpu, cores=os.cpu_count(), curl=curl.split(" (")[0],
            system=platform.freedesktop_os_release()["PRETTY_NAME"]))
        for table, heading in TABLES.items():
            if rows[table]:
                file.write(heading + "\n".join(rows[table]) + "\n")
        file.write(NOTES)
