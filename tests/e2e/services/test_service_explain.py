"""`isthmus explain`: each link of the chain is broken on purpose, and named."""

import datetime
import json

import pytest

from harness import isthmus, kube, rights
from harness.looks import explain, look
from harness.site import EXCLUDED, FINALIZER, inventory_line
from harness.wait import until
from manifests import service

# One address.
SMALL = {"name": "public", "ranges": ["10.77.0.200/32"], "coolDown": "2s", "sourceAddress": "keep"}


def broken(site, kind, name, link, *words, seconds=20, **arguments):
    """Waits until this link is the broken one and has these words; answers the chain."""
    def found():
        chain = explain(site, kind, name, **arguments)
        assert chain.broken == link and chain.code == 3, chain.text
        assert all(word in chain.last["evidence"] + chain.last["next"] for word in words), chain.text
        assert chain.last["next"], "a break has a next step"
        return chain
    return until(found, seconds, f"{link} of {name} is named")


def well(site, kind, name):
    def found():
        chain = explain(site, kind, name)
        assert chain.code == 0 and chain.broken is None, chain.text
        assert all(link["state"] == "ok" for link in chain.links.values()), chain.text
        return chain
    return until(found, 30, f"{name} is well")


def hold_lease(site, holder):
    """As a manager that is alive and does nothing."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    site.k8s.patch(kube.LEASE, {"spec": {
        "holderIdentity": holder, "leaseDurationSeconds": 60, "renewTime": now}})


def stop_all(site, word):
    site.kubectl("apply", "-f", "-", input=json.dumps({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": "kube-system", "name": "isthmus-safety"},
        "data": {"stop-all-mutations": word}}))


def test_every_link_of_a_service_is_named_when_it_breaks(make_site):
    site = make_site(joined=2)
    site.serve(service("web"))
    assert list(well(site, "service", "web").links) == [
        "object", "class", "wish", "manager", "switch", "finalizer", "load-balancer", "address",
        "rules", "status", "targets", "health"]

    broken(site, "service", "nobody", "object", "there is no Service")
    site.apply(service("theirs", loadBalancerClass="example.com/lb"))
    broken(site, "service", "theirs", "class", "example.com/lb", "--load-balancer-classes")
    site.apply(service("wrong", annotations={"isthmus.dev/health-check-interval": "soon"}))
    chain = broken(site, "service", "wrong", "wish", "InvalidAnnotation", "soon")
    until(lambda: explain(site, "service", "wrong").events[-1]["reason"] == "InvalidAnnotation")
    assert "packets" not in chain.links

    for machine in site.net.machines:
        machine.cut()
    broken(site, "service", "web", "health", "no target passes", "machine1", "10256",
           seconds=30)
    for machine in site.net.machines:
        machine.make_well()

    for machine in site.net.machines[:2]:
        site.k8s.patch(f"{kube.NODES}/{machine.name}", {"metadata": {"labels": {EXCLUDED: "true"}}})
    broken(site, "service", "web", "targets", "no Node is eligible", "machine1")

    stop_all(site, "true")
    broken(site, "service", "web", "switch", "kube-system/isthmus-safety")
    site.kubectl("delete", "configmap", "-n", "kube-system", "isthmus-safety")
    site.manager.process.terminate()
    broken(site, "service", "web", "manager", "nobody holds the Lease")
    hold_lease(site, "asleep")
    site.k8s.patch(f"{kube.SERVICES}/web/status", {"status": {"loadBalancer": {"ingress": [
        {"ip": "203.0.113.9"}]}}})
    broken(site, "service", "web", "status", "203.0.113.9")
    site.apply(service("new"))
    broken(site, "service", "new", "finalizer", FINALIZER)
    site.k8s.delete(f"{kube.SERVICES}/web")
    broken(site, "service", "web", "release", "is being deleted")

    site.infra.end()
    chain = explain(site, "service", "web")
    assert chain.links["release"]["state"] == "unknown" and chain.code != 0


def test_a_pool_that_is_empty_is_named_with_who_holds_what(make_site):
    site = make_site(joined=1, pools=[SMALL])
    site.serve(service("first"))
    site.apply(service("second"))

    chain = broken(site, "service", "second", "load-balancer", "public")

    assert "SyncLoadBalancerFailed" in chain.last["next"]
    assert chain.events[-1]["reason"] == "SyncLoadBalancerFailed"
    code, out, _ = look(site, "explain", "service", "default/second")
    assert code == 3 and "Broken at load-balancer." in out and "└ the manager says" in out


def test_every_link_of_a_node_is_named_when_it_breaks(make_site):
    site = make_site(joined=2)
    one, two = site.net.machines[:2]
    assert list(well(site, "node", one.name).links) == [
        "object", "manager", "switch", "identity", "machine", "power", "addresses", "taint", "kubelet"]

    broken(site, "node", "nobody", "object", "there is no Node")
    site.k8s.register("plain", tainted=False)
    broken(site, "node", "plain", "identity", "--cloud-provider=external")
    site.k8s.register("theirs", tainted=False, provider_id="aws:///z/i-1")
    broken(site, "node", "theirs", "identity", "aws:///z/i-1")
    site.k8s.register("stray")
    broken(site, "node", "stray", "machine", "machine_not_found")

    stopped = {**inventory_line(one), "power": "stopped"}
    site.infra.set_machines([stopped] + [inventory_line(each) for each in site.net.machines[1:]])
    broken(site, "node", one.name, "power", "stopped")
    site.k8s.register("holder", tainted=False, provider_id="isthmus://uid-stray")
    site.infra.set_machines([inventory_line(each) for each in site.net.machines]
                            + [isthmus.machine("stray")])
    broken(site, "node", "stray", "machine", "machine_held", "holder")

    site.manager.process.terminate()
    broken(site, "node", one.name, "manager", "nobody holds the Lease")
    hold_lease(site, "asleep")
    site.k8s.patch(f"{kube.NODES}/{two.name}/status", {"status": {"addresses": [
        {"type": "InternalIP", "address": "10.99.0.1"}]}})
    broken(site, "node", two.name, "addresses", "10.99.0.1", two.v4)
    three = site.net.machines[2]
    site.k8s.register(three.name, addresses=[
        {"type": "InternalIP", "address": three.v4}, {"type": "InternalIP", "address": three.v6},
        {"type": "Hostname", "address": three.name}])
    broken(site, "node", three.name, "taint", kube.TAINT)


@pytest.fixture
def poor(shared_apiserver):
    """A kubeconfig of somebody who may read Services and nothing else."""
    rights.grant(shared_apiserver.kube, [
        {"apiGroups": [""], "resources": ["services"], "verbs": ["get"]}])
    return shared_apiserver.kubeconfig_of("isthmus")


def test_who_may_see_little_is_told_what_it_takes_and_gets_the_rest(make_site, poor):
    site = make_site(joined=1)
    site.serve(service("web"))

    chain = explain(site, "service", "web", kubeconfig=poor, cloud=False)

    assert chain.broken is None and chain.code == 0
    unknown = {name: link["evidence"] for name, link in chain.links.items()
               if link["state"] == "unknown"}
    assert "list events in namespace default" in unknown["events"]
    assert "get leases in namespace kube-system" in unknown["manager"]
    assert "get namespaces" in unknown["load-balancer"] or "no cloud" in unknown["load-balancer"]
    code, out, _ = look(site, "explain", "node", "machine1", "-o=json", kubeconfig=poor, cloud=False)
    assert code == 1 and "needs the right to get nodes" in json.loads(out)["links"][0]["evidence"]
