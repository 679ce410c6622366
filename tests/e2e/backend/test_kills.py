"""SIGKILL at any moment of a change, under load: no request fails, and it comes to the same end."""

import threading
import time

import pytest

from harness.rules import Rules
from harness.wait import until
from specs import inline, names

# How many moments of one kind of change: from "nothing is done yet" to "all is done".
MOMENTS = 12


@pytest.fixture
def net(make_net, rootless):
    return make_net(rootless=rootless)


@pytest.fixture
def backend(net, make_backend):
    # A short probe: what comes after it is reached with few kills.
    return make_backend(net, host={"name": "lb1", "driver": "nft", "probe": "60ms"})


def kill_after(backend, seconds, write):
    """Kills the backend so long after a write was sent, wherever that finds it, and starts it.
    `write` is a function; whether it was answered is open."""
    writer = threading.Thread(target=until_cut_off, args=(write,))
    moment = time.monotonic() + seconds
    writer.start()
    pause(moment - time.monotonic())
    backend.infra.process.kill()
    writer.join(20)
    backend.infra.start()


def until_cut_off(write):
    try:
        write()
    except OSError:
        pass  # It was killed before it answered.


def pause(seconds):
    """Chooses a moment; nothing is waited for."""
    threading.Event().wait(max(seconds, 0))


def seconds_of(change):
    begin = time.monotonic()
    change()
    return time.monotonic() - begin


def moments(whole):
    """From the start to a little after the end of what takes so long."""
    return [whole * 1.2 * i / (MOMENTS - 1) for i in range(MOMENTS)]


def test_killed_at_any_moment_of_a_change_nobody_notices(net, backend):
    specs = [inline(net, machines=net.machines[:2]), inline(net, machines=net.machines[1:]),
             inline(net, weights=[1, 5, 2])]
    address = backend.serve("web", specs[0])["status"]["addresses"][0]
    whole = seconds_of(lambda: backend.serve("web", specs[1]))
    with net.asking(address, 80) as load:
        for i, moment in enumerate(moments(whole)):
            spec = specs[i % len(specs)]
            kill_after(backend, moment, lambda s=spec: backend.put("web", s))

            backend.serve("web", spec)
            wanted = {target["address"] for target in spec["targetGroups"][0]["targets"]}
            assert Rules(net).slots(address).keys() == wanted
        counts = load.stop()
    assert counts["failed"] == 0 and counts["asked"] > 100, counts
    assert backend.get("web")["status"]["repairs"] == 0
    assert net.bound() == {address}


def test_killed_at_any_moment_of_a_creation_it_is_made_once(net, backend):
    steady = backend.serve("steady", inline(net))["status"]["addresses"][0]
    whole = seconds_of(lambda: backend.serve("first", inline(net)))
    made = {}
    with net.asking(steady, 80) as load:
        for i, moment in enumerate(moments(whole)):
            spec = inline(net, port=1000 + i)
            kill_after(backend, moment, lambda n=f"lb{i}", s=spec: backend.put(n, s))

            made[f"lb{i}"] = backend.serve(f"lb{i}", spec)["status"]["addresses"][0], 1000 + i
        counts = load.stop()
    assert counts["failed"] == 0, counts
    assert len({address for address, _ in made.values()}) == MOMENTS
    for address, port in made.values():
        names(net.ask(address, port))
    first = backend.get("first")["status"]["addresses"][0]
    assert net.bound() == {steady, first} | {address for address, _ in made.values()}
    assert Rules(net).guarded() == net.bound()


def test_killed_at_any_moment_of_a_deletion_it_is_carried_on(net, backend):
    steady = backend.serve("steady", inline(net))["status"]["addresses"][0]
    backend.serve("web", inline(net))
    whole = seconds_of(lambda: backend.remove("web"))
    with net.asking(steady, 80) as load:
        for moment in moments(whole):
            backend.serve("web", inline(net))

            kill_after(backend, moment, lambda: backend.delete("web"))

            backend.delete("web")  # Whoever got no answer asks again.
            until(lambda: backend.is_gone("web"))
            assert net.bound() == Rules(net).guarded() == {steady}
        counts = load.stop()
    assert counts["failed"] == 0, counts


def test_traffic_goes_on_while_nothing_runs(net, backend):
    address = backend.serve("web", inline(net))["status"]["addresses"][0]
    with net.asking(address, 80) as load, net.talk(address, 80) as talk:
        assert "machine" in (before := talk.say())
        for _ in range(3):
            backend.infra.process.kill()
            names(net.ask(address, 80, count=50))
            backend.infra.start()
        assert talk.say() == before
        counts = load.stop()
    assert counts["failed"] == 0 and counts["asked"] > 100, counts
    assert backend.get("web")["status"]["repairs"] == 0


def test_a_restart_with_everything_right_writes_nothing(net, backend):
    backend.serve("web", inline(net))

    def handles():
        """The kernel's own count: a new handle with each thing that is made, even anew."""
        return net.host.run("nft", "-a", "list", "table", "inet", "isthmus")
    before = handles()

    backend.restart()
    backend.ready("web")

    assert handles() == before
