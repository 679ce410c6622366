"""filtered.py CALLS PROGRAM ARGUMENTS…: runs a program that may make these system calls, separated
by commas, and no others; any other fails with EPERM, as under systemd's SystemCallFilter."""

import ctypes
import errno
import os
import sys

ALLOW = 0x7fff0000
FAIL = 0x00050000  # With the error number in the lower half.


def main():
    calls, *argv = sys.argv[1:]
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    filtered = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(FAIL | errno.EPERM)))
    for name in calls.split(","):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # Negative: not of this architecture.
            assert library.seccomp_rule_add(filtered, ctypes.c_uint32(ALLOW), number, 0) == 0, name
    assert library.seccomp_load(filtered) == 0
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main()
