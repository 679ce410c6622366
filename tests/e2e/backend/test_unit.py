"""The backend as its systemd unit runs it: as a user of its own with two capabilities, and no more
system calls than it needs."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from harness import programs
from specs import inline, names
from wrapped import Wrapped

UNIT = os.path.join(programs.ROOT, "deploy/systemd/isthmus-infra.service")
FILTERED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "filtered.py")
USER = 65532


def settings(name):
    """The words of each line of a setting."""
    with open(UNIT, encoding="utf-8") as file:
        return [line.split() for line in re.findall(rf"^{name}=(.*)$", file.read(), re.M)]


def setting(name):
    (only,) = settings(name)
    return only


def system_calls(group):
    """All that a group of systemd's has, those of the groups in it among them."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter", group], check=True,
                            capture_output=True, text=True).stdout.splitlines()[1:]
    found = set()
    for word in (line.strip() for line in listed):
        if word.startswith("@"):
            found |= system_calls(word)
        elif word and not word.startswith("#"):
            found.add(word)
    return found


def allowed_calls():
    """By SystemCallFilter: what the first line has, but for the others."""
    (first,), *others = settings("SystemCallFilter")
    allowed = system_calls(first)
    for words in others:
        assert words[0].startswith("~")
        for word in words:
            allowed -= system_calls(word.removeprefix("~"))
    return allowed


def confined(directory):
    """The argv that runs a program as the unit would: with its capabilities and system calls, which
    are all that it can ever have."""
    assert setting("AmbientCapabilities") == setting("CapabilityBoundingSet")
    given = ",".join("+" + name.removeprefix("CAP_").lower()
                     for name in setting("AmbientCapabilities"))
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs",
            f"--inh-caps=-all,{given}", f"--ambient-caps=-all,{given}",
            f"--bounding-set=-all,{given}", "--",
            sys.executable, "-B", shutil.copy(FILTERED, directory),
            ",".join(sorted(allowed_calls()))]


@pytest.mark.parametrize("protocol, family", [("TCP", 4), ("UDP", 6)])
def test_it_makes_a_load_balancer_true_with_no_more_than_its_unit_gives_it(
        net, make_backend, directory, monkeypatch, protocol, family):
    if os.geteuid() != 0:
        pytest.skip("only root can give capabilities away")
    # The other user gets no further than to this directory; what it runs is put there.
    binary = shutil.copy(programs.isthmus(), directory)
    monkeypatch.setenv("ISTHMUS_BINARY", binary)
    net.host, whole = Wrapped(net.host, confined(directory)), net.host
    try:
        backend = make_backend(net, start=False)
        for path in (directory, *(os.path.join(place, name) for place, folders, files
                                  in os.walk(directory) for name in folders + files)):
            os.chown(path, USER, USER)
        backend.infra.start()
    finally:
        net.host = whole

    address = backend.serve("web", inline(net, protocol=protocol, family=family))[
        "status"]["addresses"][0]

    assert set(names(net.ask(address, 80, udp=protocol == "UDP", count=20))) <= {
        machine.name for machine in net.machines}
    with open(f"/proc/{backend.infra.process.pid}/status", encoding="ascii") as file:
        status = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    assert int(status["Uid"].split()[0]) == USER
    assert status["CapEff"] == status["CapBnd"]
    assert status["Seccomp"].strip() == "2"


def test_the_filter_takes_away_what_a_backend_never_needs():
    assert {"openat", "socket", "sendmsg", "epoll_wait"} <= allowed_calls()
    assert not {"mount", "ptrace", "bpf", "init_module", "setuid", "chown"} & allowed_calls()
