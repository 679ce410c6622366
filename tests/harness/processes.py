"""Child processes that are ended by pid and leave a log."""

import os
import select
import signal
import socket
import subprocess
import time


class Died(Exception):
    """A program that should run has ended."""


class Process:
    """One running program. Its output goes to a log file; it dies with us, whatever happens to us.

    Attributes: name, pid, log (a path), started_at (time.monotonic).
    """

    def __init__(self, name, argv, log, *, pipes=False, env=None, cwd=None):
        """With `pipes` standard input and output are pipes (`stdin`, `stdout`); only standard
        error is logged. Without, standard input is empty."""
        self.name = name
        self.log = log
        self.started_at = time.monotonic()
        with open(log, "ab") as out:
            self._child = subprocess.Popen(
                # setpriv becomes the program; the pid stays.
                ["setpriv", "--pdeathsig=KILL", "--", *map(str, argv)],
                stdin=subprocess.PIPE if pipes else subprocess.DEVNULL,
                stdout=subprocess.PIPE if pipes else out, stderr=out, cwd=cwd,
                env=None if env is None else {**os.environ, **env})
        self.pid = self._child.pid
        self.stdin = self._child.stdin
        self.stdout = self._child.stdout

    @property
    def running(self):
        return self._child.poll() is None

    @property
    def exit_code(self):
        """None while it runs; negative: the signal that ended it."""
        return self._child.poll()

    def must_run(self):
        """Died, with its output, when it does not run any more; no waiting helps then."""
        if not self.running:
            raise Died(f"{self.name} ended with {self.exit_code}: {self.output()}")

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def read_line(self, seconds):
        """The next line that it says on its pipe. AssertionError when it says none in time, or has
        ended. For programs that write a line at once, and the next only after it was read."""
        ready, _, _ = select.select([self.stdout], [], [], seconds)
        line = self.stdout.readline() if ready else b""
        why = "ended" if ready else f"said nothing for {seconds} s"
        assert line, f"{self.name} {why}, see {self.log}: {self.output()[-2000:]}"
        return line

    def send(self, number):
        self._child.send_signal(number)

    def terminate(self, seconds=10):
        """SIGTERM; returns (exit code, seconds it took). AssertionError when it takes longer."""
        begin = time.monotonic()
        self.send(signal.SIGTERM)
        return self.wait(seconds), time.monotonic() - begin

    def wait(self, seconds=10):
        try:
            return self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {seconds} s") from None

    def kill(self):
        """SIGKILL: the crash of a process."""
        if self.running:
            self.send(signal.SIGKILL)
        self._child.wait()

    def end(self):
        """Whatever its state, it is gone afterwards; for cleaning up."""
        if self.running:
            self.send(signal.SIGCONT)  # A stopped process cannot take a SIGTERM.
            self.send(signal.SIGTERM)
            try:
                self._child.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()
        for pipe in (self.stdin, self.stdout):
            if pipe:
                pipe.close()

    def memory(self, field="VmRSS"):
        """Bytes of a line of /proc/PID/status: VmRSS (now) or VmHWM (the most so far)."""
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith(field + ":"))
        return int(line.split()[1]) * 1024

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


class Stage:
    """Ends what was put on it, last first. A context manager; also usable by hand with close()."""

    def __init__(self):
        self._things = []

    def add(self, thing):
        """`thing` has end(); returns it."""
        self._things.append(thing)
        return thing

    def close(self):
        while self._things:
            self._things.pop().end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def sanitizer_findings(directory):
    """What sanitizers said in the logs: a program may die of it after its test has passed."""
    found = []
    for place, _, names in os.walk(directory):
        for name in names:
            if name.endswith(".log"):
                with open(os.path.join(place, name), encoding="utf-8", errors="replace") as log:
                    found += [f"{name}: {line.strip()}" for line in log
                              if "Sanitizer" in line or "runtime error:" in line]
    return found


def free_port():
    """A port of loopback that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
