"""`isthmus plan route` and a dry run, where pods have networks and nobody routes to them yet."""

from harness.looks import plan
from harness.wait import until

from routed import FLAGS


def test_routes_that_are_missing_are_planned_and_told_and_made_by_nobody(site):
    machines = site.net.machines[:2]
    site.start_manager("--configure-cloud-routes=false")
    site.join(*machines)
    site.manager.process.terminate()

    code, before = plan(site, "route", *FLAGS)

    assert code == 2
    assert {item["action"] for item in before.values()} == {"create"}, before
    assert set(before) == {f"route/{site.pods.network(number, family)}"
                           for number in (1, 2) for family in (4, 6)}
    assert f"of node {machines[0].name}" in before[f"route/{site.pods.network(1, 4)}"]["message"]

    dry = site.start_manager("--dry-run", *FLAGS, name="dry")
    until(lambda: '"would create route table"' in dry.process.output(), 20, "the table is told of")
    line = next(line for line in dry.process.output().splitlines() if "would create route" in line)
    assert "routes=4" in line and f"+{site.pods.network(2, 6)}" in line
    assert site.tables() == [] and site.kernel_routes() == {}
    assert dry.process.terminate()[0] == 0

    site.start_manager(*FLAGS, name="real")
    site.until_routed(*machines)
    until(lambda: plan(site, "route", *FLAGS)[0] == 0, 20, "nothing is to be done")
    assert dry.process.output().count('"would create route table"') == 1
