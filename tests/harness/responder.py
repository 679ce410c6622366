#!/usr/bin/env python3
"""A machine's application: says who answered, and who seems to have asked.

    responder.py NAME CONTROL_SOCKET PORT

HTTP and UDP on PORT of every address: {"machine": NAME, "client": "ADDRESS", "local": "ADDRESS"}.
GET /healthz answers what PUT /health {"status": 503} on the control socket said; GET /slow takes a
second; the connection of GET /stay stays open and answers one line for each line it gets.

PUT /ports on the control socket names all that shall be open besides PORT, and is answered when it
is so: [{"protocol": "UDP", "port": 30053}, {"protocol": "TCP", "port": 10256,
"address": "127.0.0.1", "status": 200}]. Without an address it is every address; with a status this
is what GET /healthz answers there.
"""

import asyncio
import functools
import json
import os
import socket
import sys

# Of linux/in6.h; this Python does not name them all.
IPV6_RECVPKTINFO, IPV6_PKTINFO, IPV6_FREEBIND = 49, 50, 78


class Responder:
    def __init__(self, name):
        self.name = name
        self.health = 200
        self.statuses = {}  # Of health ports: {port: status}.
        self.open = {}  # What PUT /ports has opened: {(protocol, port, address): how to close it}.

    def about(self, client, local):
        return json.dumps({"machine": self.name, "client": plain(client), "local": plain(local)})

    async def serve(self, reader, writer):
        """One HTTP connection, kept alive as long as its client likes."""
        try:
            while await self.serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def serve_one(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, _ = head.split("\r\n")[0].split(" ")
        length = next((int(line.split(":")[1]) for line in head.split("\r\n")
                       if line.lower().startswith("content-length:")), 0)
        body = await reader.readexactly(length)
        peer, local = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        about = self.about(*((peer[0], local[0]) if isinstance(peer, tuple) else ("", "")))
        if path == "/stay":
            await self.talk(reader, writer, about)
            return False
        status = 200
        if not isinstance(peer, tuple):
            about = await self.control(method, path, body) or about
        elif path == "/healthz":
            status = self.statuses.get(local[1], self.health)
        elif path == "/slow":
            await asyncio.sleep(1)
        writer.write((f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\n"
                      f"Content-Length: {len(about)}\r\n\r\n{about}").encode())
        await writer.drain()
        return "connection: close" not in head.lower()

    async def control(self, method, path, body):
        """What the control socket is for; the answer, if it is not what everybody gets."""
        if path == "/health" and method == "PUT":
            self.health = json.loads(body)["status"]
        elif path == "/health":
            return json.dumps({"status": self.health})
        elif path == "/ports":
            await self.set_ports(json.loads(body))
        return None

    async def set_ports(self, ports):
        wanted = {(port["protocol"], port["port"], port.get("address", "::")) for port in ports}
        for key in self.open.keys() - wanted:
            self.open.pop(key)()
        for key in wanted - self.open.keys():
            self.open[key] = await self.listen(*key)
        self.statuses = {port["port"]: port["status"] for port in ports if "status" in port}

    async def listen(self, protocol, port, address="::"):
        """A function that ends it; connections that are open stay."""
        if protocol == "TCP":
            return (await asyncio.start_server(
                self.serve, sock=stream_socket(address, port), backlog=512)).close
        loop = asyncio.get_running_loop()
        wire = datagram_socket(port)
        loop.add_reader(wire, self.answer_datagrams, wire)
        return functools.partial(close_datagrams, loop, wire)

    @staticmethod
    async def talk(reader, writer, about):
        """A line for each line, for as long as the client stays."""
        writer.write(b"HTTP/1.1 200 Said\r\nContent-Type: application/json\r\n\r\n")
        while await reader.readline():
            writer.write(about.encode() + b"\n")
            await writer.drain()

    def answer_datagrams(self, wire):
        while True:
            try:
                _, control, _, client = wire.recvmsg(2048, 256)
            except BlockingIOError:
                return
            local = next((socket.inet_ntop(socket.AF_INET6, data[:16])
                          for level, kind, data in control
                          if level == socket.IPPROTO_IPV6 and kind == IPV6_PKTINFO), "")
            # The answer leaves from the address that was asked; mapped ones carry IPv4.
            out = [item for item in control if item[1] == IPV6_PKTINFO]
            wire.sendmsg([self.about(client[0], local).encode()], out, 0, client)


def plain(address):
    """Without the clothes of IPv4 in an IPv6 socket."""
    return address.removeprefix("::ffff:")


def stream_socket(address, port):
    wire = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if wire.family == socket.AF_INET6:
        wire.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    wire.bind((address, port))
    return wire


def datagram_socket(port):
    wire = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    wire.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    wire.setsockopt(socket.IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
    # It answers from every address that is routed to it, too.
    wire.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
    wire.bind(("::", port))
    wire.setblocking(False)
    return wire


def close_datagrams(loop, wire):
    loop.remove_reader(wire)
    wire.close()


async def main(name, control, port):
    responder = Responder(name)
    await responder.listen("TCP", port)
    await responder.listen("UDP", port)
    if os.path.exists(control):
        os.unlink(control)
    await asyncio.start_unix_server(responder.serve, control)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
