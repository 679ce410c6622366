"""`isthmus conformance` against the backend: the contract that the manager relies on is kept, on a real kernel."""

import signal
import subprocess

from harness import programs, rest
from harness.wait import until

# What the tables of the conformance run route, by default.
DESTINATIONS = ["203.0.113.0/24", "2001:db8:fffe::/48"]


def with_owners(directory, *names):
    """Configuration keys for these owners."""
    for name in names:
        with open(f"{directory}/{name}.token", "w", encoding="utf-8") as file:
            file.write(f"token-of-{name}\n")
    return {"owners": [{"name": n, "tokenFile": f"{directory}/{n}.token",
                        "routes": {"destinations": DESTINATIONS}} for n in names]}


def command(infra, directory, *flags):
    return [programs.isthmus(), "conformance", "--url", infra.url,
            "--token-file", f"{directory}/prod.token", *flags]


def steps(out):
    """What is said of each step, by its name."""
    words = [line.split() for line in out.splitlines() if line[:1] not in ("", " ")]
    return {w[1]: w[0] for w in words if w[0] in ("passed", "failed", "skipped")}


def test_the_backend_keeps_the_whole_contract(net, make_backend, directory):
    infra = make_backend(net, **with_owners(directory, "prod", "test")).infra
    infra.set_machines([{"uid": "m1", "name": "node1"}])
    with open(f"{directory}/test.token", encoding="utf-8") as file:
        client = rest.Client(infra.url, token=file.read().strip())
    until(lambda: client.request("GET", "/v1/instances/m1").status == 200, 20, "a machine")

    done = subprocess.run(
        command(infra, directory, "--families", "IPv4,IPv6",
                "--other-token-file", f"{directory}/test.token"),
        capture_output=True, text=True, timeout=300, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    said = steps(done.stdout)
    # One by one is how other clouds have them.
    assert said.pop("route-made") == said.pop("route-released") == "skipped", done.stdout
    assert set(said.values()) == {"passed"}, done.stdout
    assert len(said) > 30
    assert net.bound() == set()


def test_what_it_made_is_taken_away_when_it_is_stopped(net, make_backend, directory):
    infra = make_backend(net, **with_owners(directory, "prod")).infra
    with subprocess.Popen(command(infra, directory), stdout=subprocess.PIPE, text=True) as running:
        until(net.bound, 60, "it holds an address")
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=120)

    assert "passed" in out.splitlines()[0]
    assert steps(out)["clean-up"] == "passed", out
    assert "the run was cut off" in out
    until(lambda: not net.bound(), 20, "it holds none")
