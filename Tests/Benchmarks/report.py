"""RESULTS.md: the tables of a run, and what stands behind them."""

import datetime
import os
import platform
import subprocess

HEAD = """# What authctl costs

Written by `make bench` on {date}: {cpu}, {cores} cores, {system}, {curl}. The commands of a group \
run in turn, A B A B, those without a bound in every third round; times are medians in milliseconds, wall time and processor time of the \
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

- On a machine that shares its processors with others, as this one, two runs differ by a tenth, and
  the same program is twice as fast in one hour as in another. Linux here keeps a process on one
  processor while it has little to do: what is loaded meanwhile is not free, and ratios of wall time
  come near those of processor time.
- A program with Swift's runtime inside begins 0.8 ms later than one in C: 190 pages are touched and
  27 000 pointers set before `main`. Without libdispatch, which only asynchronous commands would need,
  they are 31 pages fewer: 5 % of `--version`. The functions of usual commands are side by side in the
  program (packaging/functions.txt), so that 45 fewer pages are touched: 4 MiB, and 3 % of `token` and
  `get`. Memory does not grow with the length of a body nor with the number of requests.
- libcurl loads on a thread, with 11 of its 29 libraries. The others are for RTMP, LDAP and Kerberos;
  four files of a page, in memory, stand in for them (Sources/CSystem/stand_in.c): 17 % of a `get`
  with AUTHCTL_TOKEN, 11 % of one with a session. Two more stand in for libraries of GIO: 3 % of the
  processor time of `token` and `get`.
- Of the time of a look into the keyring, two thirds go into the keys of its encrypted session, half
  of that in the keyring's own process. It is asked before the options are read, and they are read
  while it computes: 6 % of `token` and `get`. GDBus reads from the bus itself, through a stream that
  limits messages, after one round trip of authentication in place of four: 5 % of `token`.
- The command in C loads the same libraries and makes the same calls, with libsecret's simple
  functions, which send twice as many messages. 0.85 of the idiom would be 0.91 of it.
- The connection to another machine begins while the keyring is read, and carries nothing before
  that: 10 ms less of 62 at a distance of 20 ms by http, 10 of 109 by https. If the command has only
  a path and a profile, it begins before the options are read, 2 ms after the program: 4 ms less. The
  main thread then gives way once: where threads share a processor while they have little to do, as
  here, the one that connects would otherwise begin no earlier.
- With TLS 1.2, as nginx 1.22 has it, a first request takes four round trips. curl begins to connect
  4 ms later than authctl, and reads its authorities while it waits. At 100 ms the round trips alone
  take longer than 0.97 of curl's time; with the three of TLS 1.3 it would be the same.
- `status` reads all sessions in one call to the keyring, after two searches: one finds items of a
  keyring that was never unlocked. Both are sent before either is answered, as is the question for
  the keyring's process: 4 % of `status`, 2 % of `token`. A call before the keys are negotiated costs
  1 %: without it gnome-keyring sometimes aborts.
- A request of `batch` costs what it costs curl; the start and the keyring come before the first.
- Over https the hashed folder of the system's authorities is looked into, in place of their bundle.
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
