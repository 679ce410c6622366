#!/usr/bin/env python3
"""One ICMP echo request: prints "answered" or "silence".

    ping.py ADDRESS SECONDS
"""

import socket
import struct
import sys
import time


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def request(kind):
    head = struct.pack("!BBHHH", kind, 0, 0, 66, 1)
    return head[:2] + struct.pack("!H", checksum(head)) + head[4:]


def is_answered(address, seconds):
    """IPv6's checksum is the kernel's; and what it hands us comes without the IP header."""
    if ":" in address:
        family, protocol, asks, answers, at = socket.AF_INET6, socket.IPPROTO_ICMPV6, 128, 129, 0
    else:
        family, protocol, asks, answers, at = socket.AF_INET, socket.IPPROTO_ICMP, 8, 0, 20
    with socket.socket(family, socket.SOCK_RAW, protocol) as wire:
        wire.sendto(request(asks), (address, 0))
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            wire.settimeout(left)
            try:
                packet, sender = wire.recvfrom(2048)
            except TimeoutError:
                break
            if sender[0] == address and packet[at] == answers:
                return True
    return False


if __name__ == "__main__":
    print("answered" if is_answered(sys.argv[1], float(sys.argv[2])) else "silence")
