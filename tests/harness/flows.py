#!/usr/bin/env python3
"""Asks an address, each time with a new flow, and prints who answered: a JSON document a line.

    flows.py ADDRESS PORT [--count N] [--udp] [--timeout SECONDS] [--source ADDRESS]… [--path P]

--count is for each source. After twenty failures it stops: more would only take more time.

With --until-eof it asks for as long as standard input is open, and then says how that went:
{"asked": 1200, "failed": 0, "errors": []}. With --talk it stays with one flow, asks again for each
line of standard input, and prints each answer.
"""

import argparse
import json
import socket
import struct
import sys
import threading

FAILURES_MAX = 20


def ask_tcp(options, source):
    family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    with socket.socket(family) as wire:
        wire.settimeout(options.timeout)
        if source:
            wire.bind((source, 0))
        wire.connect((options.address, options.port))
        wire.sendall(f"GET {options.path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
                     .encode())
        answer = b""
        while piece := wire.recv(65536):
            answer += piece
        # The machine, which closed first, would remember the flow for a minute, and the kernel drops
        # a new one that a masquerade gives the same port (PAWS). A reset makes it forget.
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        return {"error": head.decode("latin-1").split("\r\n")[0] or "closed without an answer"}
    return json.loads(body)


def ask_udp(options, source):
    family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as wire:
        wire.settimeout(options.timeout)
        if source:
            wire.bind((source, 0))
        wire.connect((options.address, options.port))
        wire.send(b"who")
        return json.loads(wire.recv(2048))


def open_talk(options):
    """One flow that stays: a function that asks once more."""
    family = socket.AF_INET6 if ":" in options.address else socket.AF_INET
    wire = socket.socket(family, socket.SOCK_DGRAM if options.udp else socket.SOCK_STREAM)
    wire.settimeout(options.timeout)
    wire.connect((options.address, options.port))
    if options.udp:
        return lambda: (wire.send(b"who"), wire.recv(2048))[1]
    lines = wire.makefile("rb")
    wire.sendall(b"GET /stay HTTP/1.1\r\nHost: test\r\n\r\n")
    while lines.readline().strip():
        pass
    return lambda: (wire.sendall(b"again\n"), lines.readline())[1]


def talk(options):
    once_more = open_talk(options)
    for _ in sys.stdin:
        try:
            print(json.dumps(json.loads(once_more())), flush=True)
        except (OSError, ValueError) as reason:
            print(json.dumps({"error": str(reason)}), flush=True)


def ask(options, source=None):
    try:
        return ask_udp(options, source) if options.udp else ask_tcp(options, source)
    except OSError as reason:
        return {"error": reason.strerror or str(reason)}


def ask_until_eof(options):
    over = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), over.set()), daemon=True).start()
    print("asking", flush=True)
    asked, errors = 0, []
    while not over.is_set():
        answer = ask(options)
        asked += 1
        if "error" in answer:
            errors.append(answer["error"])
    print(json.dumps({"asked": asked, "failed": len(errors), "errors": errors[:10]}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("address")
    parser.add_argument("port", type=int)
    parser.add_argument("--count", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=2)
    parser.add_argument("--source", action="append")
    parser.add_argument("--path", default="/")
    parser.add_argument("--udp", action="store_true")
    parser.add_argument("--until-eof", action="store_true")
    parser.add_argument("--talk", action="store_true")
    options = parser.parse_args()
    if options.talk:
        talk(options)
        return
    if options.until_eof:
        ask_until_eof(options)
        return
    failed = 0
    for source in options.source or [None]:
        for _ in range(options.count):
            answer = ask(options, source)
            print(json.dumps(answer))
            failed += "error" in answer
            if failed == FAILURES_MAX:
                return


if __name__ == "__main__":
    main()
