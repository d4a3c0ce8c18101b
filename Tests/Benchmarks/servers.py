"""Servers for the benchmarks: nginx, its certificate, a keyring, and a sink for uploads."""

import contextlib
import ctypes
import json
import os
import shutil
import socket
import subprocess
import threading
import time

BODY = '{"id":7,"name":"Ada Lovelace","email":"ada@example.com"}'
TOKEN = "eyJhbGciOiJIUzI1NiJ9." + "e30" * 60 + "." + "s" * 43


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certificate(folder, addresses):
    """A certificate for localhost and the addresses, and the authority that signed it, as PEM
    files."""
    run = lambda *words: subprocess.run(words, cwd=folder, check=True, capture_output=True)
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out",
        "ca.pem", "-days", "2", "-subj", "/CN=authctl benchmark authority")
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out",
        "server.csr", "-subj", "/CN=localhost")
    with open(f"{folder}/names", "w") as file:
        file.write(",".join(["subjectAltName=DNS:localhost", *(f"IP:{ip}" for ip in addresses)]))
    run("openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
        "-CAcreateserial", "-out", "server.pem", "-days", "2", "-extfile", "names")


def trust_authority(folder):
    """Adds the authority to the system's certificates, in a mount namespace of this process, so
    that all programs are measured with the certificates that they use by default. Needs root."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, private, bind = 0x20000, 0x44000, 0x1000
    if os.geteuid() != 0 or libc.unshare(new_mounts) != 0:
        return False
    here = f"{folder}/certs"
    shutil.copytree("/etc/ssl/certs", here, symlinks=True)
    shutil.copy(f"{folder}/ca.pem", f"{here}/authctl-benchmark.pem")
    with open(f"{folder}/ca.pem") as ours, open(f"{here}/ca-certificates.crt", "a") as bundle:
        bundle.write(ours.read())
    subprocess.run(["openssl", "rehash", here], capture_output=True)
    return (libc.mount(None, b"/", None, private, None) == 0
            and libc.mount(here.encode(), b"/etc/ssl/certs", None, bind, None) == 0)


def nginx(folder, address, http, https):
    """Starts nginx on two ports of an address, the second for TLS if it is not None. It serves a
    small response at any path, files of 1 GiB and 1 MiB at /large and /small, at /token a token
    that has expired, at /lasting one that has not, and what oidc-agent has to know about it."""
    home = f"{folder}/{address}"
    os.makedirs(home)
    os.makedirs(f"{folder}/files", exist_ok=True)
    for file, size in (("large", 1 << 30), ("small", 1 << 20)):
        with open(f"{folder}/files/{file}", "wb") as file:
            file.truncate(size)
    answer = lambda lifetime: json.dumps({"access_token": TOKEN, "refresh_token": "again",
                                          "token_type": "Bearer", "expires_in": lifetime})
    here = "$scheme://$http_host"
    metadata = json.dumps({
        "issuer": f"{here}/", "authorization_endpoint": f"{here}/authorize",
        "token_endpoint": f"{here}/lasting", "jwks_uri": f"{here}/keys",
        "grant_types_supported": ["refresh_token"], "response_types_supported": ["code"],
        "scopes_supported": ["openid", "offline_access"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256"]})
    tls = f"listen {address}:{https} ssl; ssl_certificate {folder}/server.pem; " \
        f"ssl_certificate_key {folder}/server.key;" if https else ""
    with open(f"{home}/nginx.conf", "w") as file:
        file.write(f"""
            user root; worker_processes 1; daemon off; pid nginx.pid; error_log error.log;
            events {{ worker_connections 2048; }}
            http {{
              access_log off; default_type application/json; keepalive_requests 1000000;
              client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3;
              uwsgi_temp_path t4; scgi_temp_path t5;
              server {{
                listen {address}:{http} backlog=2048; {tls}
                location / {{ return 200 '{BODY}'; }}
                location = /token {{ return 200 '{answer(0)}'; }}
                location = /lasting {{ return 200 '{answer(86400)}'; }}
                location = /.well-known/openid-configuration {{ return 200 '{metadata}'; }}
                location ~ ^/(large|small)$ {{ root {folder}/files; sendfile on; }}
              }}
            }}""")
    server = subprocess.Popen(["nginx", "-p", home, "-c", "nginx.conf"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait((address, http))
    return server


def wait(address):
    """Waits until something listens at the path of a socket, or at an address and port."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    for _ in range(200):
        with contextlib.suppress(OSError), socket.socket(family) as probe:
            return probe.connect(address)
        time.sleep(0.05)
    raise SystemExit(f"nothing listens at {address}")


def environment(folder):
    """The environment of the commands, with a home folder of their own."""
    names = {"HOME": "home", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state",
             "XDG_DATA_HOME": "data", "XDG_RUNTIME_DIR": "run"}
    for name in names.values():
        os.mkdir(f"{folder}/{name}", 0o700)
    return {"PATH": os.environ["PATH"], "LC_ALL": "C"} | {
        variable: f"{folder}/{name}" for variable, name in names.items()}


def keyring(folder, env):
    """Starts a bus and an unlocked keyring on it, and adds the bus to `env`."""
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": env}
    env["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={folder}/bus"
    bus = subprocess.Popen(["dbus-daemon", "--session", "--nofork",
                            f"--address={env['DBUS_SESSION_BUS_ADDRESS']}"], **silent)
    wait(f"{folder}/bus")
    keyring = subprocess.Popen(["gnome-keyring-daemon", "--unlock", "--components=secrets",
                                "--foreground"], stdin=subprocess.PIPE, **silent)
    keyring.stdin.write(b"bench")
    keyring.stdin.close()
    subprocess.run(["gdbus", "wait", "--session", "--timeout", "20", "org.freedesktop.secrets"],
                   env=env, check=True)
    return [bus, keyring]


def oidc_agent(folder, env):
    """Starts oidc-agent, which keeps tokens in its memory, and adds its socket to `env`."""
    env["OIDC_SOCK"] = f"{folder}/oidc"
    os.makedirs(f"{folder}/config/oidc-agent")
    agent = subprocess.Popen(["oidc-agent", "--console", "--socket-path", env["OIDC_SOCK"]],
                             env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait(env["OIDC_SOCK"])
    return agent


def sink():
    """A port that accepts uploads and discards them."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)

    def serve(connection):
        with connection:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = connection.recv(65536)
                if not piece:
                    return
                head += piece
            head, _, begun = head.partition(b"\r\n\r\n")
            if b"expect: 100-continue" in head.lower():
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n")
                          if line.lower().startswith(b"content-length:"))
            left, buffer = length - len(begun), bytearray(1 << 20)
            while left > 0 and (count := connection.recv_into(buffer)):
                left -= count
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")

    def accept():
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]
