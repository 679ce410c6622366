"""`isthmus plan` before a manager comes and after it: what it says is what is done."""

from harness import kube
from harness.isthmus import machine
from harness.looks import look, plan
from harness.site import EXCLUDED, FINALIZER, inventory_line
from harness.wait import until
from manifests import WEB, service


def test_before_a_manager_comes_it_says_what_it_will_do_and_afterwards_nothing(make_site):
    site = make_site(joined=2)
    site.serve(service("kept"))
    site.serve(service("leaving"))
    site.manager.process.terminate()
    new = site.net.machines[2]
    site.kubelets.join(new)
    site.apply(service("fresh"), service("wrong", annotations={"isthmus.dev/pool": "nowhere"}),
               service("theirs", loadBalancerClass="example.com/lb"))
    site.patch("kept", {"spec": {"ports": [{**WEB, "port": 81}]}})
    site.k8s.delete(f"{kube.SERVICES}/leaving")

    code, before = plan(site)

    assert code == 2, "something is to be done"
    assert {name: item["action"] for name, item in before.items()
            if not name.startswith("targetset/")} == {
        "node/machine1": "none", "node/machine2": "none", f"node/{new.name}": "initialize",
        "service/default/kept": "update", "service/default/leaving": "release",
        "service/default/fresh": "create", "service/default/wrong": "refuse",
        "service/default/theirs": "none"}
    node = before[f"node/{new.name}"]
    assert node["reason"] == "Uninitialized" and f"uid-{new.name}" in node["message"]
    assert f"no taint {kube.TAINT}" in node["details"]
    fresh = before["service/default/fresh"]
    address = next(line for line in fresh["details"] if line.startswith("address ")).split()[1]
    assert "finalizer" in fresh["details"]
    assert any("81" in line for line in before["service/default/kept"]["details"])
    assert f"no finalizer {FINALIZER}" in before["service/default/leaving"]["details"]
    assert "nowhere" in before["service/default/wrong"]["message"]
    assert site.k8s.holder() == "" and site.addresses("fresh") == {}, "nothing was done"

    site.start_manager()
    assert site.ready("fresh")[4].rstrip(",") == address.rstrip(",")
    until(lambda: not kube.is_tainted(site.k8s.node(new.name)))

    def nothing_to_do():
        code, after = plan(site)
        assert code == 0, after
        assert {item["action"] for item in after.values()} <= {"none", "refuse", "wait"}, after
    until(nothing_to_do, 40, "nothing is to be done")


def test_for_people_it_is_a_table_of_one_kind_or_one_object(make_site):
    site = make_site(joined=2)
    site.serve(service("web"))

    code, out, _ = look(site, "plan", "service", "default/web")
    assert code == 0
    assert out.splitlines()[0].split() == ["OBJECT", "ACTION", "REASON", "WHAT"]
    assert out.splitlines()[1].startswith("service/default/web  none ")
    assert "Nothing is to be done." in out

    site.k8s.patch(f"{kube.NODES}/machine1", {"metadata": {"labels": {EXCLUDED: "true"}}})
    code, out, _ = look(site, "plan", "nodes")
    assert code == 0 and "service/" not in out and "node/machine2" in out


def test_of_a_machine_that_is_off_or_gone_it_says_what_becomes_of_the_node(make_site):
    site = make_site(joined=1)
    site.manager.process.terminate()
    lines = [inventory_line(each) for each in site.net.machines]
    site.infra.set_machines(lines + [machine("off", power="stopped")])
    site.k8s.register("off", tainted=False, provider_id="isthmus://uid-off",
                      status={"conditions": [{"type": "Ready", "status": "Unknown"}]})

    def planned(action, reason):
        code, items = plan(site, "node", "off")
        assert (items["node/off"]["action"], items["node/off"]["reason"]) == (action, reason), items
        return code, items["node/off"]
    code, item = until(lambda: planned("taint", "MachineStopped"), 20, "the taint is planned")
    assert code == 2 and item["details"] == ["taint node.cloudprovider.kubernetes.io/shutdown"]

    site.infra.set_machines(lines + [machine("off", state="retired")])
    code, item = until(lambda: planned("withhold", "MachineGone"), 20, "one answer deletes nothing")
    assert code == 0


def test_mistakes_and_silence_are_said(make_site, directory):
    site = make_site(joined=1)

    code, out, err = look(site, "plan", "pods", "--load-balancer-classes=-")
    assert (code, out) == (1, "") and '"pods"' in err and "--load-balancer-classes" in err
    code, out, err = look(site, "plan", "node", "nobody")
    assert (code, out) == (1, "") and "there is no node nobody" in err
    code, out, err = look(site, "plan", cloud=False)
    assert code == 1 and "--cloud-provider" in err

    site.apply(service("web"))
    code, out, _ = look(site, "plan", f"--cloud-config={nowhere(directory)}", cloud=False)
    assert code == 1, "not everything could be asked"
    assert "node/machine1" in out and "unknown" in out and "service/default/web" in out


def nowhere(directory):
    path = f"{directory}/nowhere.yaml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"url: unix://{directory}/none.sock\n")
    return path
