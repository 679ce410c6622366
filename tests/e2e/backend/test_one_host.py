"""One host has one backend, whatever store it has."""

from harness.wait import until
from specs import inline, names


def test_the_second_on_one_host_refuses_and_harms_nobody(make_net, make_backend):
    net = make_net()
    first = make_backend(net)
    address = first.serve("web", inline(net))["status"]["addresses"][0]

    second = make_backend(net, name="second", start=False)
    second.infra.launch()

    assert second.infra.process.wait(10) != 0
    assert f"(pid {first.infra.process.pid})" in second.infra.process.output()
    names(net.ask(address, 80, count=3))
    assert first.get("web")["status"]["repairs"] == 0

    # What ended without a word holds nothing.
    first.infra.process.kill()
    second.infra.start()
    until(second.infra.is_ready)
    names(net.ask(address, 80, count=3))
