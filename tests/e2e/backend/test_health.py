"""Machines that are not well: found by checks, left alone by new flows, taken back."""

import signal

import pytest

from harness.wait import until
from specs import HTTP_CHECK, inline, names, serve_cells


@pytest.fixture(params=["routed", "flat"])
def net(request, make_net, rootless):
    return make_net(flat=request.param == "flat", rootless=rootless)


@pytest.fixture
def routed(make_net):
    return make_net()


FAULTS = {
    "dead link": lambda machine: machine.cut(),
    # The kernel goes on accepting connections for it.
    "stopped process": lambda machine: machine.process.send(signal.SIGSTOP),
    "sick": lambda machine: machine.set_health(503),
}


def serving(backend, name):
    return backend.get(name)["status"]["targets"]["serving"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_machine_that_is_not_well_gets_no_new_flows_until_it_is(net, make_backend, fault):
    backend = make_backend(net)
    addresses = serve_cells(backend, net, check=HTTP_CHECK)
    cells = {f"{protocol}{family}".lower(): (protocol, address)
             for (protocol, family), address in addresses.items()}
    for name in cells:
        backend.until_condition(name, "TargetsHealthy", "True")
    broken = net.machines[1]

    FAULTS[fault](broken)

    for name, (protocol, address) in cells.items():
        until(lambda n=name: backend.get(n)["status"]["targets"] ==
              {"total": 3, "healthy": 2, "serving": 2}, what=f"{name} leaves it alone")
        got = names(net.ask(address, 80, udp=protocol == "UDP", count=40))
        assert set(got) == {"machine1", "machine3"}
        health = {t["address"]: t for t in backend.get(name)["status"]["targetHealth"]}
        seen = health[broken.address(6 if ":" in address else 4)]
        assert seen["health"] == "unhealthy" and seen["reason"], seen

    broken.make_well()

    for name, (protocol, address) in cells.items():
        until(lambda n=name: serving(backend, n) == 3, what=f"{name} takes it back")
        got = names(net.ask(address, 80, udp=protocol == "UDP", count=60))
        assert set(got) == {"machine1", "machine2", "machine3"}


def test_an_application_that_is_gone_is_found_by_connecting(routed, make_backend):
    backend = make_backend(routed)
    check = {"protocol": "TCP", "interval": "200ms", "timeout": "150ms", "rise": 1, "fall": 2}
    address = backend.serve("web", inline(routed, check=check))["status"]["addresses"][0]
    backend.until_condition("web", "TargetsHealthy", "True")
    machine = routed.machines[1]

    machine.process.end()
    try:
        until(lambda: serving(backend, "web") == 2)
        assert set(names(routed.ask(address, 80, count=40))) == {"machine1", "machine3"}
    finally:
        routed.start_machine(machine)
    until(lambda: serving(backend, "web") == 3)


def test_where_all_are_sick_all_are_kept(routed, make_backend):
    backend = make_backend(routed)
    said = backend.serve("web", inline(routed, check=HTTP_CHECK))
    for machine in routed.machines:
        machine.set_health(503)

    backend.until_condition("web", "TargetsHealthy", "False")

    names(routed.ask(said["status"]["addresses"][0], 80, count=20))
    assert serving(backend, "web") == 3
    # The application's health is none of our work.
    backend.until_condition("web", "Ready", "True")


def test_a_sick_machine_stays_out_over_a_restart(routed, make_backend):
    backend = make_backend(routed)
    address = backend.serve("web", inline(routed, check=HTTP_CHECK))["status"]["addresses"][0]
    routed.machines[0].set_health(503)
    until(lambda: serving(backend, "web") == 2)

    with routed.asking(address, 80) as load:
        backend.crash()
        backend.ready("web")
        until(lambda: serving(backend, "web") == 2)
        assert set(names(routed.ask(address, 80, count=40))) == {"machine2", "machine3"}
        assert load.stop()["failed"] == 0
