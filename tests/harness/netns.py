"""Network namespaces of a test: as root, or in a user namespace of their own, where nobody is root.

Each is held by a process of the test, so whatever happens to the test, its network is gone with it.
"""

import os
import subprocess

from . import wait
from .processes import Process, Stage

_HOLD = ["setpriv", "--pdeathsig=KILL", "--", "sleep", "infinity"]


class Namespace:
    """One network namespace. Attributes: name, pid (of its holder), enter (argv to run inside)."""

    def __init__(self, name, pid, enter):
        self.name = name
        self.pid = pid
        self.enter = enter

    def argv(self, *command):
        """To run a program inside that dies with us."""
        return [*self.enter, "setpriv", "--pdeathsig=KILL", "--", *map(str, command)]

    def run(self, *command, stdin=None, check=True, seconds=60):
        """The output of a command that ends; AssertionError with what it said when it fails."""
        done = subprocess.run(self.argv(*command), input=stdin, capture_output=True, text=True,
                              timeout=seconds, check=False)
        if check:
            assert done.returncode == 0, f"{self.name}: {command}: {done.stdout}{done.stderr}"
        return done.stdout

    def ip(self, *lines):
        """Each line an `ip` command; all in one process."""
        self.run("ip", "-batch", "-", stdin="".join(line + "\n" for line in lines))

    def write_settings(self, settings):
        """{"ipv4/ip_forward": 1}, below /proc/sys/net."""
        script = "".join(f"echo {value} > /proc/sys/net/{path}\n"
                         for path, value in settings.items())
        self.run("sh", "-ec", script)


class World:
    """Makes namespaces and ends them. A user namespace of its own with `rootless`.

    Use it as a context manager, or end() it.
    """

    def __init__(self, directory, *, rootless=None):
        """`rootless` defaults to what must be: True unless this process is root."""
        self.rootless = os.geteuid() != 0 if rootless is None else rootless
        self.namespaces = {}
        self._directory = str(directory)
        self._stage = Stage()
        self._user = None  # The holder of the user namespace.

    def namespace(self, name):
        outer = self._enter_user() if self.rootless else []
        argv = [*outer, "unshare", "-n", *_HOLD]
        holder = self._hold(name, argv, lambda pid: _differs(pid, "net"))
        enter = ["nsenter", "-t", str(holder.pid), "-n"]
        if self.rootless:
            enter += ["-U", "--preserve-credentials"]
        made = self.namespaces[name] = Namespace(name, holder.pid, enter)
        # Addresses are good at once; the kernel would try each for a second or two.
        made.write_settings({"ipv6/conf/default/accept_dad": 0,
                             "ipv6/conf/default/dad_transmits": 0})
        made.ip("link set lo up")
        return made

    def link(self, one, its_name, other, other_name):
        """A cable between two namespaces; both ends are still down."""
        one.ip(f"link add {its_name} type veth peer name {other_name} netns {other.pid}")

    def _enter_user(self):
        if self._user is None:
            self._user = self._hold("user", ["unshare", "-U", "--map-root-user", *_HOLD],
                                    lambda pid: _differs(pid, "user") and _is_mapped(pid))
        return ["nsenter", "-t", str(self._user.pid), "-U", "--preserve-credentials"]

    def _hold(self, name, argv, ready):
        holder = self._stage.add(
            Process(f"namespace {name}", argv, f"{self._directory}/namespaces.log"))

        def is_held():
            holder.must_run()
            return _command(holder.pid) == "sleep" and ready(holder.pid)

        wait.until(is_held, 10, f"namespace {name}")
        return holder

    def end(self):
        self._stage.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def why_not(rootless):
    """Why no namespaces can be made here, or None."""
    argv = ["unshare", "-n", "true"] if not rootless else ["unshare", "-Urn", "true"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else None


def _differs(pid, kind):
    return os.readlink(f"/proc/{pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}")


def _is_mapped(pid):
    with open(f"/proc/{pid}/uid_map", encoding="ascii") as file:
        return bool(file.read().strip())


def _command(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()
