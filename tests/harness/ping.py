#!/usr/bin/env python3
"""One ICMP echo request: prints "answered" or "silence".

    ping.py IPV4_ADDRESS SECONDS
"""

import socket
import struct
import sys
import time


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def is_answered(address, seconds):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as wire:
        head = struct.pack("!BBHHH", 8, 0, 0, 66, 1)
        wire.sendto(head[:2] + struct.pack("!H", checksum(head)) + head[4:], (address, 0))
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            wire.settimeout(left)
            try:
                packet, (sender, _) = wire.recvfrom(2048)
            except TimeoutError:
                break
            if sender == address and packet[20] == 0:
                return True
    return False


if __name__ == "__main__":
    print("answered" if is_answered(sys.argv[1], float(sys.argv[2])) else "silence")
