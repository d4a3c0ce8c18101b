"""Writes the list of the functions that usual commands run, for the linker; see `make order`.

    order.py AUTHCTL FILE

AUTHCTL has symbols. The list is sorted, so that a change of it shows what has changed.
"""

import os
import re
import subprocess
import sys
import tempfile

import servers

PROFILE = ["--preset", "json", "--set", "refresh.path=/token",
           "--set", 'refresh.body={"r":"{refresh_token}"}']
LINE = '{"method":"GET","url":"/me"}\n'


def main():
    authctl, file = map(os.path.abspath, sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="authctl-order.") as folder:
        env = servers.environment(folder)
        port = servers.free_port()
        started = [servers.nginx(folder, "127.0.0.1", port, None)]
        try:
            started += servers.keyring(folder, env)
            names = functions_of_all(authctl, f"http://127.0.0.1:{port}", folder, env)
        finally:
            for child in reversed(started):
                child.terminate()
                child.wait()
    with open(file, "w") as out:
        out.writelines(f"{name}\n" for name in sorted(names))
    print(f"{file}: {len(names)} functions")


def functions_of_all(authctl, url, folder, env):
    def run(words, stdin="", before=()):
        done = subprocess.run([*before, authctl, *words], env=env, input=stdin, text=True,
                              capture_output=True)
        if done.returncode:
            sys.exit(f"{words}: {done.returncode}\n{done.stderr}")

    run(["profile", "add", "shop", url, *PROFILE])
    sign_in = ["login", "-p", "shop", "-u", "ada", "--token-fd", "0"]
    run([*sign_in, "--refresh-token-command", "echo again"], servers.TOKEN)
    names, counts = set(), f"{folder}/counts"
    for words, stdin in (
            (["refresh"], ""), (["get", "/me"], ""), (["get", "-p", "shop", f"{url}/me"], ""),
            (["get", "/small", "-o", f"{folder}/copy"], ""), (["post", "/me", "--field", "a=1"], ""),
            (sign_in, servers.TOKEN), (["token"], ""), (["status"], ""), (["exec", "--", "true"], ""),
            (["batch"], 50 * LINE), (["get", "/me"], "")):
        run(words, stdin, ["valgrind", "--tool=callgrind", "--demangle=no",
                           f"--callgrind-out-file={counts}"])
        names |= functions(counts, authctl)
    return names


def functions(counts, authctl):
    """The functions of `authctl` in a file of callgrind, which numbers each name at its first use.
    https://valgrind.org/docs/manual/cl-format.html"""
    known, found, ours = {"ob": {}, "fn": {}}, set(), False
    with open(counts, errors="replace") as lines:
        for line in lines:
            match = re.match(r"(c?)(ob|fn)=\((\d+)\)(?: (.*))?$", line)
            if not match:
                continue
            call, kind, number, name = match.groups()
            if name:
                known[kind][number] = name
            if not call and kind == "ob":
                ours = known["ob"][number] == authctl
            elif not call and ours:
                # A recursive call has a number behind its name.
                found.add(re.sub(r"'\d+$", "", known["fn"][number]))
    return {name for name in found if not name.startswith("0x")}


if __name__ == "__main__":
    main()
