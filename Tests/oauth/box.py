"""Runs authctl in a home folder of its own, and looks for secrets in what it shows."""

import contextlib
import dataclasses
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import time


@dataclasses.dataclass
class Run:
    words: tuple
    status: int
    out: str
    err: str

    def __str__(self):
        return f"$ authctl {' '.join(self.words)}\n{self.out}{self.err}[{self.status}]"


class Box:
    """One user of authctl at one server."""

    def __init__(self, folder, program, proxy):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.program = program
        self.proxy = proxy
        self.runs = []
        key = self.folder / "key"
        key.touch(0o600)
        key.write_bytes(os.urandom(32))
        browser = self.folder / "browser"
        script = pathlib.Path(__file__).with_name("browser.py")
        browser.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$1" '
                           f'2>>"{self.folder}/browser.log"\n')
        browser.chmod(0o700)
        self.pages = self.folder / "pages"
        self.env = {
            "HOME": str(self.folder), "PATH": os.environ["PATH"], "LANG": "C.UTF-8",
            "TERM": "xterm", "AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": str(key),
            "OAUTH_PAGES": str(self.pages),
        }
        self.browser = str(browser)

    def environment(self, browser=None, **more):
        """`browser` is who signs in and what they answer: user, password, answer."""
        env = dict(self.env)
        if browser:
            user, password, answer = browser
            env |= {"BROWSER": self.browser, "OAUTH_USER": user, "OAUTH_PASSWORD": password,
                    "OAUTH_ANSWER": answer}
            self.proxy.secrets.add(password)
        return env | more

    def start(self, *words, browser=None, **env):
        return subprocess.Popen(
            [self.program, *words], env=self.environment(browser, **env), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True)

    def finish(self, words, process, stdin="", seconds=90):
        try:
            out, err = process.communicate(stdin, timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            out, err = process.communicate()
            err += f"\n[no end after {seconds} s]\n"
        return self.keep(Run(words, process.returncode, out, err))

    def keep(self, run):
        self.runs.append(run)
        return run

    def run(self, *words, stdin="", browser=None, seconds=90, **env):
        return self.finish(words, self.start(*words, browser=browser, **env), stdin, seconds)

    def visit(self, url, user, password, answer="accept", code=""):
        """Walks the pages at `url`, and returns the last address."""
        env = self.environment((user, password, answer), OAUTH_USER_CODE=code)
        subprocess.run([self.browser, url], env=env, check=True, timeout=90)
        return self.last_address()

    def last_address(self):
        lines = self.pages.read_text().splitlines()
        return [x[3:] for x in lines if x.startswith("== http")][-1]

    def last_page(self):
        return self.pages.read_text().split("== http")[-1]

    @contextlib.contextmanager
    def terminal(self, *words, **env):
        with Terminal(self, words, self.environment(**env)) as terminal:
            yield terminal

    def leaks(self):
        """The runs that show a secret which went over the wire, except those that are to."""
        found = []
        for run in self.runs:
            shown = run.err if run.words[0] == "token" else run.out + run.err
            found += [f"{secret[:4]}… in: {run}" for secret in self.proxy.secrets
                      if secret in shown]
        return found


class Terminal:
    """authctl on a terminal of its own."""

    def __init__(self, box, words, env):
        self.box, self.words, self.screen = box, words, ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(box.program, [box.program, *words], env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)

    def read(self, seconds):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                return False
            self.screen += data.decode(errors="replace")
            return bool(data)
        return True

    def wait_for(self, text, seconds=30):
        deadline = time.time() + seconds
        while text not in self.screen:
            if time.time() > deadline or not self.read(0.5):
                raise AssertionError(f"{text!r} did not come:\n{self.screen}")

    def type(self, text):
        os.write(self.fd, text.encode())

    def finish(self, seconds=60):
        deadline = time.time() + seconds
        while time.time() < deadline and self.read(0.5):
            pass
        _, status = os.waitpid(self.pid, 0)
        return self.box.keep(
            Run(self.words, os.waitstatus_to_exitcode(status), self.screen.replace("\r", ""), ""))
