"""Controllers that move between managers: a second lease decides where they run."""

import datetime

import pytest

from harness import kube
from harness.isthmus import machine
from harness.kube import is_tainted
from harness.wait import never_during, until
from test_initialization import initialized

MIGRATION = kube.LEASE.rsplit("/", 1)[0] + "/cloud-provider-extraction-migration"
OTHER = "kube-controller-manager-1_7c9e6679"
MACHINES = [machine(f"node{i}", address=f"10.0.0.{i}") for i in (1, 2)]


@pytest.fixture
def migrating(k8s, make_infra, make_manager):
    """migrating(*flags, name) starts a manager that takes part in the migration."""
    k8s.client.request("DELETE", MIGRATION)
    infra = make_infra(MACHINES)

    def make(*flags, name="manager"):
        return make_manager(infra, "--enable-leader-migration", *flags, name=name)
    yield make
    k8s.client.request("DELETE", MIGRATION)


def holder(k8s, path):
    lease = k8s.get_or_none(path)
    return (lease or {}).get("spec", {}).get("holderIdentity") or ""


def let_another_hold(k8s):
    """As upstream's kube-controller-manager does that takes part in the migration."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    k8s.create(MIGRATION.rsplit("/", 1)[0], {
        "metadata": {"name": MIGRATION.rsplit("/", 1)[1]},
        "spec": {"holderIdentity": OTHER, "leaseDurationSeconds": 3600, "acquireTime": now,
                 "renewTime": now, "leaseTransitions": 1}})


def runs(manager, controller):
    return manager.metric("running_managed_controllers", name=controller) == 1


def test_what_moves_begins_when_the_other_component_lets_go(k8s, migrating):
    let_another_hold(k8s)
    manager = migrating()
    k8s.register("node1")
    initialized(k8s, "node1")

    assert runs(manager, "cloud-node")
    assert not runs(manager, "service")
    never_during(lambda: runs(manager, "service"), 3)

    k8s.patch(MIGRATION, {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}})

    until(lambda: runs(manager, "service"), 20, "the service controller")
    assert holder(k8s, MIGRATION) == k8s.holder() != ""
    assert manager.metric("leader_election_master_status",
                          name="cloud-provider-extraction-migration") == 1


def test_two_managers_hand_over_both_leases(k8s, migrating):
    first = migrating(name="first")
    until(lambda: runs(first, "service"), 20)
    leader = k8s.holder()
    second = migrating(name="second")
    assert holder(k8s, MIGRATION) == leader

    code, _ = first.process.terminate()

    assert code == 0
    until(lambda: runs(second, "service"), 10, "the second manager")
    assert runs(second, "cloud-node")
    assert holder(k8s, MIGRATION) == k8s.holder() not in ("", leader)
    k8s.register("node1")
    initialized(k8s, "node1")


@pytest.mark.parametrize("lease", [kube.LEASE, MIGRATION], ids=["main", "migration"])
def test_to_lose_either_lease_ends_the_manager(k8s, migrating, lease):
    manager = migrating()
    until(lambda: runs(manager, "service"), 20)

    k8s.patch(lease, {"spec": {"holderIdentity": OTHER, "leaseDurationSeconds": 3600}})

    assert manager.process.wait(30) == 1
    assert holder(k8s, lease) == OTHER
    k8s.register("node1")
    never_during(lambda: not is_tainted(k8s.node("node1")), 1)


def test_a_controller_that_another_component_is_to_run_does_not_run_here(
        k8s, directory, migrating):
    config = directory + "/migration.yaml"
    with open(config, "w", encoding="utf-8") as file:
        file.write("""\
apiVersion: controllermanager.config.k8s.io/v1beta1
kind: LeaderMigrationConfiguration
leaderName: cloud-provider-extraction-migration
resourceLock: leases
controllerLeaders:
- {name: service-controller, component: kube-controller-manager}
- {name: route-controller, component: "*"}
""")
    manager = migrating(f"--leader-migration-config={config}")
    until(lambda: holder(k8s, MIGRATION), 20, "the second lease")
    k8s.register("node1")
    initialized(k8s, "node1")
    assert manager.metric("running_managed_controllers", name="service") is None


def test_without_an_election_nothing_is_waited_for(k8s, make_infra, make_manager):
    manager = make_manager(make_infra(MACHINES), "--leader-elect=false")
    k8s.register("node1")
    initialized(k8s, "node1")
    assert k8s.holder() == ""
    assert runs(manager, "cloud-node")
