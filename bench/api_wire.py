"""The backend's API as a benchmark speaks it: requests made beforehand, on connections that stay."""

import json
import socket
import threading
import time


def put(path, body):
    """A whole request."""
    body = json.dumps(body, separators=(",", ":")).encode()
    return (f"PUT {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


class ApiWire:
    """One connection. What was not answered with 200 or 201 is an AssertionError."""

    def __init__(self, path):
        self._wire = _connect(path)
        self._wire.settimeout(30)
        self._left = b""

    def send(self, request):
        self._wire.sendall(request)

    def receive(self):
        head, self._left = self._until(b"\r\n\r\n")
        status = int(head.split(b" ", 2)[1])
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                      if line.startswith(b"content-length:"))
        pieces, have = [self._left], len(self._left)
        while have < length:
            pieces.append(self._wire.recv(1 << 20))
            assert pieces[-1], "closed within an answer"
            have += len(pieces[-1])
        body = b"".join(pieces)
        body, self._left = body[:length], body[length:]
        assert status in (200, 201), body
        return json.loads(body)

    def ask(self, request):
        self.send(request)
        return self.receive()

    def get(self, path):
        return self.ask(f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())

    def end(self):
        self._wire.close()

    def _until(self, mark):
        while mark not in self._left:
            piece = self._wire.recv(65536)
            assert piece, "closed instead of an answer"
            self._left += piece
        head, _, rest = self._left.partition(mark)
        return head, rest


class EventStream:
    """A watch. `seen`: (moment, line), read only when somebody cares, since reading takes time."""

    def __init__(self, path, target):
        self.seen = []
        self._wire = _connect(path)
        self._wire.sendall(f"GET {target} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        # Sizes of chunks stand on lines of their own and are no events.
        lines = self._wire.makefile("rb", buffering=1 << 20)
        try:
            for line in lines:
                if line.startswith(b"{"):
                    self.seen.append((time.monotonic(), line))
        except OSError:
            pass  # Cut off by end().

    def end(self):
        self._wire.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._wire.close()


def _connect(path):
    wire = socket.socket(socket.AF_UNIX)
    wire.connect(path)
    return wire
