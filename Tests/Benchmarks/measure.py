"""Runs commands in turn, and records what each costs, with ratios of the first to the others."""

import os
import re
import statistics
import subprocess
import sys
import time


class Measurement:
    """Commands are lists of words, or text for sh. `env` is their whole environment."""

    def __init__(self, runs, folder, env):
        self.runs, self.folder, self.env = runs, folder, env
        self.daemons, self.errors = [], f"{folder}/errors"
        self.rows = {"times": [], "distances": [], "sizes": []}

    def run(self, *words, stdin="", **more):
        done = subprocess.run(words, env=self.env | more, input=stdin, text=True,
                              capture_output=True)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def row(self, table, *cells):
        self.rows[table].append("| " + " | ".join(cells) + " |")
        what, command, *numbers, bound = cells
        print(f"{what:36} {command:30}", *(f"{number:>9}" for number in numbers), bound, flush=True)

    def group(self, title, commands, bounds={}, processor={}, share=1, daemons=False, env={},
              table="times"):
        """Measures medians of `commands`, a list of (name, command), in the order A B A B, because
        a machine's speed changes from minute to minute. `bounds` has the largest acceptable ratio
        of wall times by name, `processor` that of processor times; a command without either runs in
        every third round. Processor time is that of the command and its children, and with
        `daemons` also of the bus and the keyring. `share` is that of the runs of most groups."""
        samples = [[] for _ in commands]
        always = {commands[0][0], *bounds, *processor}
        for turn in range(max(1, round(self.runs * share)) + 1):
            for mine, (name, command) in zip(samples, commands):
                if turn % 3 != 1 and name not in always:
                    continue
                sample = self.once(command, self.env | env, self.daemons if daemons else ())
                if turn > 0:  # The first round only warms caches.
                    mine.append(sample)
        medians = [[statistics.median(times) * 1000 for times in zip(*mine)] for mine in samples]
        for place, ((name, _), median) in enumerate(zip(commands, medians)):
            ratios = [first / this for first, this in zip(medians[0], median)]
            verdicts = [verdict(ratios[0], bounds.get(name)),
                        verdict(ratios[1], processor.get(name), " of processor time")]
            self.row(table, "" if place else title, name, *(f"{time:.1f}" for time in median),
                     *(f"{ratio:.2f}" if place else "" for ratio in ratios),
                     ", ".join(filter(None, verdicts)))

    def once(self, command, env, daemons=()):
        """Wall and processor time of one run, in seconds."""
        words = ["sh", "-c", command] if isinstance(command, str) else command
        before = sum(map(processor_time, daemons))
        begin = time.perf_counter()
        child = os.posix_spawnp(words[0], words, env, file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, self.errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)])
        _, status, usage = os.wait4(child, 0)
        wall = time.perf_counter() - begin
        if status:
            with open(self.errors) as file:
                sys.exit(f"{command}: {os.waitstatus_to_exitcode(status)}\n{file.read()}")
        if daemons:
            time.sleep(0.1)  # They have to notice that the commands are gone.
        return wall, usage.ru_utime + usage.ru_stime + sum(map(processor_time, daemons)) - before

    def peak(self, title, commands, allowances={}):
        """Peak memory, by /usr/bin/time: wait4 would count that of the process before exec."""
        peaks = []
        for _, command in commands:
            words = ["sh", "-c", command] if isinstance(command, str) else command
            self.once(["/usr/bin/time", "-f", "%M", "-o", f"{self.folder}/peak", *words], self.env)
            with open(f"{self.folder}/peak") as file:
                peaks.append(int(file.read()) / 1024)
        for place, ((name, _), peak) in enumerate(zip(commands, peaks)):
            over = peaks[0] - peak
            self.row("sizes", "" if place else title, name, f"{peak:.1f} MiB",
                     f"{over:+.1f}" if place else "",
                     verdict(over, allowances.get(name), " MiB", "+"))

    def instructions(self, title, words):
        """Instructions in user space, by callgrind: unlike times, they are reproducible."""
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *words], env=self.env,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        found = re.search(r"Collected : (\d+)", done.stderr)
        count = f"{int(found[1]) / 1e6:.1f} M" if found else "?"
        self.row("sizes", title, "instructions", count, "", "")


def verdict(value, bound, unit="", sign=""):
    if bound is None:
        return ""
    return f"{'ok' if value <= bound else 'OVER'} (<= {sign}{bound}{unit})"


def processor_time(pid):
    """Seconds of user and system time of a process, from proc_pid_stat(5)."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
