"""`make test-oauth`: tries authctl at real authorization servers.

    run.py PROGRAM FOLDER [SERVER ...] [--case TEXT]

Prints a table of what was tried, with PASS or FAIL, and exits with 1 after a failure. What was
sent and shown stays in FOLDER.
"""

import argparse
import pathlib
import shutil
import sys
import traceback

import box
import cases
import servers
import wire


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("servers", nargs="*")
    parser.add_argument("--case", default="")
    words = parser.parse_args()
    rows = []

    def report(server, case, what, is_right, seen):
        rows.append((server, case, what, is_right))
        print(f"{'PASS' if is_right else 'FAIL'}  {server}: {case}: {what}", flush=True)
        if not is_right:
            print("\n".join("      " + line for x in seen for line in x.splitlines()), flush=True)

    shutil.rmtree(words.folder, ignore_errors=True)
    for kind in servers.all_servers():
        if words.servers and kind.name not in words.servers:
            continue
        try_server(kind, words, report)
    print()
    width = max(len(f"{x[0]}  {x[1]}") for x in rows)
    for server, case, what, is_right in rows:
        print(f"{'PASS' if is_right else 'FAIL'}  {f'{server}  {case}':{width}}  {what}")
    failed = [x for x in rows if not x[3]]
    print(f"\n{len(rows) - len(failed)} of {len(rows)} steps passed.")
    return 1 if failed else 0


def try_server(kind, words, report):
    proxy = wire.Proxy()
    server = kind((words.folder / kind.name).absolute(), proxy)
    boxes = []
    try:
        server.setup()
        server.start()
        for name, needs, function in cases.CASES:
            if needs - server.has or words.case not in name:
                continue
            user = box.Box(server.folder / name.replace(" ", "-").replace(",", ""),
                           str(words.program.absolute()), proxy)
            boxes.append(user)
            case = cases.Case(server, user, name, report)
            try:
                function(case)
            except Exception:  # One case that cannot go on does not end the others.
                case.check("goes to its end", False, traceback.format_exc(), *user.runs[-1:])
        leaks = [leak for user in boxes for leak in user.leaks()]
        report(server.name, "secrets", f"none of {len(proxy.secrets)} shown", not leaks, leaks[:5])
    finally:
        server.stop()
        with open(server.folder / "wire", "w") as file:
            file.writelines(f"{x}\n" for x in proxy.exchanges)


if __name__ == "__main__":
    sys.exit(main())
