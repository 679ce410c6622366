"""The service controller as a ServiceAccount of its own, with the role that every cluster comes with."""

from harness import rights
from harness.topology import names
from harness.wait import until
from manifests import service


def test_an_account_with_the_usual_role_serves_a_service_and_takes_it_away(
        shared_apiserver, make_site):
    rights.install(shared_apiserver.kube, "service-account-credentials.yaml")
    site = make_site(flags=["--use-service-account-credentials"])

    address = site.serve(service("web"))[4]

    until(lambda: names(site.net.ask(address, 80, timeout=0.5)))
    site.delete("web")
    assert not site.balancer("web")
    assert "forbidden" not in site.manager.process.output()
