"""`isthmus run --dry-run` beside a cluster in full life: it says what it would do, and does nothing.

Both sides are written down: the API server's audit log has all that the manager's account asked
for, and a Meddler all that the backend was asked.
"""

import json
import os
import re

from harness import isthmus, kube, rights
from harness.meddler import Meddler
from harness.site import EXCLUDED, FINALIZER
from harness.wait import until
from manifests import WEB, service

READS = {"get", "list", "watch"}


class Witness:
    """What was asked of the backend; a manager given `cloud_config` reaches it through this."""

    def __init__(self, site):
        self.seen = []
        path = os.path.join(site.directory, "witness.sock")
        self._meddler = Meddler(path, site.infra.socket, self._note)
        self.cloud_config = isthmus.write_cloud_config(
            os.path.join(site.directory, "witness.yaml"), "unix://" + path)

    def _note(self, method, path, _body):
        self.seen.append((method, path))

    def writes(self):
        return [(method, path) for method, path in self.seen
                if method != "GET" and "dryRun=true" not in path]

    def end(self):
        self._meddler.end()


def verbs_since(log, place):
    """The verbs that managers used, by the audit log from this place on."""
    with open(log, encoding="utf-8") as file:
        file.seek(place)
        events = [json.loads(line) for line in file if line.endswith("\n")]
    return {(event["verb"], event["objectRef"]["resource"]) for event in events
            if event.get("objectRef") and not event["objectRef"]["resource"].endswith("reviews")}


def desired(site):
    """What the backend has been told, without what becomes of it."""
    targets = site.infra.client.request("GET", "/v1/owners/local/targetsets").json()["items"]
    return [(each["metadata"]["name"], each["metadata"]["generation"], each["spec"])
            for each in site.balancers() + targets], site.held()


def test_a_whole_story_is_told_and_nothing_is_written(make_site, audit_logs, stage):
    site = make_site(joined=2)
    kept = site.serve(service("kept"))
    site.serve(service("leaving"))
    site.manager.process.terminate()
    witness = stage.add(Witness(site))
    log, before = audit_logs / "shared.log", desired(site)
    place = os.path.getsize(log)
    dry = site.start_manager("--dry-run", isthmus.OFTEN, "--load-balancer-drift-period=2s",
                             "--load-balancer-orphan-grace=1s", "--logging-format=json",
                             name="dry", cloud_config=witness.cloud_config)

    new = site.net.machines[2]
    site.kubelets.join(new)
    site.apply(service("fresh"))
    site.patch("kept", {"spec": {"ports": [{**WEB, "port": 81}]}})
    site.k8s.delete(f"{kube.SERVICES}/leaving")
    site.k8s.patch(f"{kube.NODES}/{site.net.machines[1].name}", {
        "metadata": {"labels": {EXCLUDED: "true"}}})
    site.apply(service("wrong", annotations={"isthmus.dev/health-check-interval": "soon"}))

    def told():
        return [json.loads(line) for line in dry.process.output().splitlines()
                if line.startswith("{")]

    def lines(message, /, **fields):
        return [line for line in told() if line["msg"] == message and
                all(value in str(line.get(key)) for key, value in fields.items())]

    for message, fields in (
            ("node initialized (dry run)", {"node": new.name, "plan": "no taint"}),
            ("would patch", {"object": f"nodes/{new.name}", "patch": "providerID"}),
            ("would create load balancer", {"labels": "fresh", "addresses": "10."}),
            ("would change load balancer", {"labels": "kept", "changes": "81"}),
            ("would release load balancer", {"labels": "leaving"}),
            ("would patch", {"object": "services/default/fresh", "patch": FINALIZER}),
            ("would patch", {"object": "services/default/leaving", "patch": FINALIZER}),
            ("would tell by an event", {"object": "Service/default/wrong", "message": "soon"}),
            ("would change target set", {"targets": "1"})):
        until(lambda m=message, f=fields: lines(m, **f), 30, f"{message} {fields} in the log")

    # Long enough for each Node and each load balancer to be looked at a few times more.
    until(lambda: len([1 for _, path in witness.seen if "dryRun=true" in path]) >= 12, 40,
          "load balancers compared again and again")

    assert witness.writes() == []
    verbs = verbs_since(log, place)
    assert verbs and {verb for verb, _ in verbs} <= READS, verbs
    assert desired(site) == before
    assert site.k8s.holder() == "", "no lease is taken"
    assert kube.is_tainted(site.k8s.node(new.name))
    assert site.addresses("kept") == kept and site.addresses("fresh") == {}
    assert site.events("fresh") == [] and site.events("wrong") == []
    assert len(lines("node initialized (dry run)")) == 1
    assert len(lines("would create load balancer", labels="fresh")) == 1
    assert len(lines("would release load balancer", labels="leaving")) == 1


def test_it_needs_no_right_to_write(make_site, shared_apiserver):
    site = make_site(joined=1)
    site.manager.process.terminate()
    rules = [{**rule, "verbs": [verb for verb in rule["verbs"] if verb in READS]}
             for rule in rights.rules()]
    rights.grant(site.k8s, [rule for rule in rules if rule["verbs"]])

    dry = site.start_manager("--dry-run", kubeconfig=shared_apiserver.kubeconfig_of("isthmus"),
                             name="dry")
    site.apply(service("web"))
    new = site.net.machines[1]
    site.kubelets.join(new)

    for words in ('"would create load balancer"', '"would tell by an event" object="Service/default/web"',
                  f'"node initialized (dry run)" node="{new.name}"',
                  '"load balancer ensured (dry run)" service="default/web"'):
        until(lambda words=words: words in dry.process.output(), 20, words)
    assert "forbidden" not in dry.process.output()


def test_it_says_that_it_is_one_and_beside_whom(make_site):
    site = make_site(joined=1)
    leader = until(site.k8s.holder, 20, "a leader")
    dry = site.start_manager("--dry-run", name="dry")

    until(lambda: re.search(f'"who leads".*holder="{re.escape(leader)}"', dry.process.output()), 20,
          "the leader is named")
    answer = until(lambda: ready(dry), 20, "ready")
    assert "[+]dry-run ok" in answer and "leaderElection" not in answer
    assert dry.metric("isthmus_dry_run") == 1
    assert site.k8s.holder() == leader


def ready(manager):
    answer = manager.operator.request("GET", "/readyz?verbose")
    assert answer.status == 200, answer.text
    return answer.text
