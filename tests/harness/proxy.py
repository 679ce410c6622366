"""A wire that a test can hold up or cut, between a client and a server."""

import socket
import threading


class Proxy:
    """Passes bytes on, both ways, between connections to itself and to `upstream`.

    An end is a unix path or (host, port). TLS passes through untouched.
    - hold(): from now on nothing a client says gets through, until release(). `held` counts the
      connections on which a client is waiting for that.
    - cut(): every connection is torn and each new one refused at once, until mend().
    """

    def __init__(self, listen, upstream):
        self._upstream = upstream
        self._free = threading.Event()
        self._free.set()
        self._cut = False
        self._ended = False
        self._lock = threading.Lock()
        self._open = set()
        self.held = 0
        self._listener = _socket(listen)
        if not isinstance(listen, str):
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(listen)
        self._listener.listen(128)
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self):
        return self._listener.getsockname()[1]

    def hold(self):
        self._free.clear()

    def release(self):
        self._free.set()

    def cut(self):
        self._cut = True
        with self._lock:
            for wire in list(self._open):
                _tear(wire)

    def mend(self):
        self._cut = False

    def end(self):
        self._ended = True
        self._free.set()
        _tear(self._listener)
        self._listener.close()
        self.cut()

    def _accept(self):
        while not self._ended:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._cut:
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        server = _socket(self._upstream)
        try:
            server.connect(self._upstream)
        except OSError:
            client.close()
            return
        with self._lock:
            self._open |= {client, server}
        back = threading.Thread(target=self._pass, args=(server, client, False), daemon=True)
        back.start()
        self._pass(client, server, True)
        back.join()
        with self._lock:
            self._open -= {client, server}
        client.close()
        server.close()

    def _pass(self, source, target, may_be_held):
        try:
            while data := source.recv(65536):
                if may_be_held and not self._free.is_set():
                    with self._lock:
                        self.held += 1
                    self._free.wait()
                    with self._lock:
                        self.held -= 1
                target.sendall(data)
        except OSError:
            pass
        _tear(source)
        _tear(target)


def _socket(end):
    return socket.socket(socket.AF_UNIX if isinstance(end, str) else socket.AF_INET)


def _tear(wire):
    try:
        wire.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
