"""Servers for the benchmarks, all on loopback: nginx, a slow line, and a sink for uploads."""

import asyncio
import contextlib
import os
import socket
import subprocess
import threading
import time

BODY = '{"id":7,"name":"Ada Lovelace","email":"ada@example.com"}'


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certificate(folder):
    """A certificate for localhost and the authority that signed it, as PEM files."""
    run = lambda *words: subprocess.run(words, cwd=folder, check=True, capture_output=True)
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out",
        "ca.pem", "-days", "2", "-subj", "/CN=authctl benchmark authority")
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", "server.key", "-out",
        "server.csr", "-subj", "/CN=localhost")
    with open(f"{folder}/names", "w") as file:
        file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    run("openssl", "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
        "-CAcreateserial", "-out", "server.pem", "-days", "2", "-extfile", "names")


def nginx(folder, http, https):
    """Starts nginx, which serves a small response at any path, 1 GiB at /large, and expired tokens
    at /token."""
    os.makedirs(f"{folder}/files", exist_ok=True)
    with open(f"{folder}/files/large", "wb") as file:
        file.truncate(1 << 30)
    token = '{"access_token":"new-token-0123456789","refresh_token":"again","expires_in":0}'
    tls = f"listen 127.0.0.1:{https} ssl; ssl_certificate {folder}/server.pem; " \
        f"ssl_certificate_key {folder}/server.key;" if https else ""
    with open(f"{folder}/nginx.conf", "w") as file:
        file.write(f"""
            user root; worker_processes 1; daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;
            events {{ worker_connections 2048; }}
            http {{
              access_log off; default_type application/json; keepalive_requests 1000000;
              client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
              fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
              server {{
                listen 127.0.0.1:{http} backlog=2048; {tls}
                location / {{ return 200 '{BODY}'; }}
                location = /token {{ return 200 '{token}'; }}
                location = /large {{ root {folder}/files; sendfile on; }}
              }}
            }}""")
    server = subprocess.Popen(["nginx", "-p", folder, "-c", f"{folder}/nginx.conf"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait(http)
    return server


def wait(port):
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise SystemExit(f"nothing listens on port {port}")


def slow_line(to, round_trip):
    """A port that delays every byte by half of `round_trip` seconds each way. New connections are
    delayed too: data sent before a real TCP handshake would be over has to wait."""

    async def pump(reader, writer, not_before):
        queue = asyncio.Queue()

        async def deliver():
            while (item := await queue.get()) is not None:
                moment, data = item
                await asyncio.sleep(max(0, moment - time.monotonic()))
                writer.write(data)
                await writer.drain()
            with contextlib.suppress(OSError):
                writer.write_eof()

        task = asyncio.create_task(deliver())
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                queue.put_nowait((max(time.monotonic(), not_before) + round_trip / 2, data))
        queue.put_nowait(None)
        with contextlib.suppress(OSError):
            await task

    async def serve(reader, writer):
        connected = time.monotonic() + round_trip
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", to)
        for end in (writer, far_writer):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.gather(pump(reader, far_writer, connected), pump(far_reader, writer, 0))
        writer.close()
        far_writer.close()

    port = free_port()

    def run():
        async def main():
            server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=512)
            await server.serve_forever()
        asyncio.run(main())

    threading.Thread(target=run, daemon=True).start()
    wait(port)
    return port


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
