"""`isthmus status` against a backend that holds load balancers: a person reads what is and why."""

import json
import subprocess

from harness import programs
from specs import inline


def status(backend, *flags):
    """(exit code, standard output)"""
    done = subprocess.run([programs.isthmus(), "status", "--socket", backend.infra.socket, *flags],
                          capture_output=True, text=True, timeout=30, check=False)
    assert not done.stderr, done.stderr
    return done.returncode, done.stdout


def test_what_is_ready_is_told_in_one_line_each(net, backend):
    served = backend.serve("web", inline(net))
    address = served["status"]["addresses"][0]

    code, out = status(backend)

    assert code == 0, out
    head, line, *rest = out.splitlines()
    assert head.split() == ["OWNER", "LOAD", "BALANCER", "ADDRESSES", "READY", "PROGRAMMED",
                            "HEALTHY", "GENERATION", "REPAIRS"]
    assert line.split()[:5] == ["local", "web", address, "True", "True"]
    assert line.index(address) == head.index("ADDRESSES")
    assert any(row.split()[:4] == [address, "held", "local", "web"] for row in rest)
    assert any(row.startswith("public") for row in rest)


def test_what_is_not_ready_says_why_on_the_line_below(net, backend):
    with net.claimed(net.vip(3)):
        backend.put("web", inline(net, addresses=[net.vip(3)]))
        backend.until_condition("web", "Programmed", "False", "AddressConflict")

    code, out = status(backend)

    assert code == 3, out
    assert "AddressConflict" in out.splitlines()[2]


def test_programs_get_the_objects_of_the_api(net, backend):
    backend.serve("web", inline(net))

    code, out = status(backend, "-o", "json", "--owner", "local")

    assert code == 0
    told = json.loads(out)
    assert [item["metadata"]["name"] for item in told["loadBalancers"]] == ["web"]
    assert told["addresses"][0]["status"]["holders"] == ["web"]
    assert told["pools"][0]["metadata"]["name"] == "public"
    assert told["orphans"] is None
