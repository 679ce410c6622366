"""The story, line 5: programs are killed, traffic goes on, and nothing is changed without need."""

import pytest

from harness import kube
from harness.topology import names
from harness.wait import until
from manifests import DNS, WEB, service

# Of the default lease, and a little for a machine that is busy.
TAKEOVER_SECONDS = 25


def handles(site):
    """The kernel's own count: a new handle with each thing that is made, even anew."""
    return site.net.host.run("nft", "-a", "list", "table", "inet", "isthmus")


def versions(site, *services):
    """What any write to a Service or its load balancer raises."""
    return {name: (site.service(name)["metadata"]["resourceVersion"],
                   site.balancer(name)["metadata"]["generation"],
                   site.balancer(name)["metadata"]["uid"]) for name in services}


def until_settled(site, *services):
    """Health is known, so nothing is about to change by itself."""
    for name in services:
        site.until_well(name, {"machine1", "machine2", "machine3"})


def until_ensured(site, count):
    """The manager that runs knows so many load balancers, all ready."""
    until(lambda: site.manager.metric("isthmus_load_balancers", state="ready") == count,
          TAKEOVER_SECONDS, "all looked at")


def test_the_manager_is_killed_and_nothing_changes(site):
    address = site.serve(service("web", ports=[WEB, DNS]))[4]
    site.serve(service("other"))
    until_settled(site, "web", "other")
    before, kernel = versions(site, "web", "other"), handles(site)
    revision = site.balancer("web")["metadata"]["revision"]
    events = len(site.events("web"))
    with site.net.asking(address, 80) as load, site.net.talk(address, 80) as talk:
        first = talk.say()
        site.crash_manager()
        names(site.net.ask(address, 80, count=20))

        site.manager.start()
        until_ensured(site, 2)

        assert handles(site) == kernel
        assert site.balancer("web")["metadata"]["revision"] == revision
        assert versions(site, "web", "other") == before
        # The new one works, too.
        site.serve(service("third"), TAKEOVER_SECONDS)
        assert talk.say() == first
        assert load.stop()["failed"] == 0
    assert versions(site, "web", "other") == before
    assert len(site.events("web")) == events


def test_the_backend_is_killed_and_nothing_changes(site):
    address = site.serve(service("web", ports=[WEB, DNS]))[4]
    until_settled(site, "web")
    before, kernel = versions(site, "web"), handles(site)
    with site.net.asking(address, 80) as load, site.net.talk(address, 80) as talk:
        first = talk.say()
        site.infra.process.kill()
        names(site.net.ask(address, 80, count=20))
        assert site.manager.is_alive()

        site.infra.start()
        until_settled(site, "web")

        assert talk.say() == first
        assert load.stop()["failed"] == 0
    assert versions(site, "web") == before
    assert handles(site) == kernel
    assert site.balancer("web")["status"]["repairs"] == 0


def test_what_happened_while_nobody_ran_is_caught_up_with(site):
    kept = site.serve(service("kept"))[4]
    site.serve(service("deleted"))
    address = site.serve(service("changed"))[4]
    with site.net.asking(kept, 80) as load:
        site.crash_manager()
        site.infra.process.kill()
        site.k8s.delete(f"{kube.SERVICES}/deleted")
        site.patch("changed", {"spec": {"ports": [{**WEB, "port": 81}]}})
        site.kubelets.leave(site.net.machines[0])
        site.apply(service("made"))

        site.infra.start()
        site.manager.start()

        made = site.ready("made", 40)[4]
        until(lambda: site.k8s.get_or_none(f"{kube.SERVICES}/deleted") is None)
        until(lambda: names(site.net.ask(address, 81, count=2, timeout=0.5)))
        until(lambda: set(names(site.net.ask(made, 80, count=30))) == {"machine2", "machine3"})
        assert load.stop()["failed"] == 0
    assert site.net.bound() == site.held() == {kept, address, made}


def test_of_two_managers_the_second_takes_over(routed):
    """With the default lease times."""
    address = routed.serve(service("web"))[4]
    first = routed.manager
    second = routed.start_manager(*routed.flags, name="second")
    before = versions(routed, "web")
    with routed.net.asking(address, 80) as load:
        first.process.kill()
        routed.apply(service("late"))

        late = routed.ready("late", TAKEOVER_SECONDS)[4]

        assert names(routed.net.ask(late, 80, count=3))
        assert load.stop()["failed"] == 0
    assert versions(routed, "web") == before
    assert second.metric("leader_election_master_status", name="cloud-controller-manager") == 1


def test_without_a_backend_services_wait_and_say_so(routed):
    routed.infra.process.kill()
    routed.apply(service("web"))

    routed.warned("web")
    routed.infra.start()

    assert routed.ready("web", 90)


@pytest.mark.parametrize("step", ["finalizer", "put", "status"])
def test_killed_on_the_way_of_a_creation_it_is_made_once(routed, step):
    """The manager dies as soon as a step is seen, and the next one goes on from there."""
    seen = {"finalizer": lambda: routed.service("web")["metadata"].get("finalizers"),
            "put": lambda: routed.balancer("web"),
            "status": lambda: routed.addresses("web")}
    routed.apply(service("web"))
    until(seen[step])
    routed.crash_manager()

    routed.manager.start()

    address = routed.ready("web")[4]
    assert len(routed.balancers()) == 1 and routed.net.bound() == {address}
    assert names(routed.net.ask(address, 80, count=3))


def test_killed_on_the_way_of_a_deletion_it_is_carried_on(routed):
    routed.serve(service("web"))
    routed.k8s.delete(f"{kube.SERVICES}/web")
    routed.crash_manager()

    routed.manager.start()

    until(lambda: routed.k8s.get_or_none(f"{kube.SERVICES}/web") is None)
    until(lambda: not routed.balancers() and not routed.net.bound())
