"""With --use-service-account-credentials each controller is a ServiceAccount of its own, with the
role that every cluster has for it."""

from routed import FLAGS
from harness import rights

ACCOUNTS = "/api/v1/namespaces/kube-system/serviceaccounts"
SERVICE = {"apiVersion": "v1", "kind": "Service",
           "metadata": {"name": "web", "namespace": "default"},
           "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}


def test_each_controller_works_as_an_account_of_its_own(site):
    rights.install(site.k8s, "service-account-credentials.yaml")
    machines = site.net.machines[:2]

    site.start_manager(*FLAGS, "--use-service-account-credentials")

    site.join(*machines)
    site.until_routed(*machines)
    site.apply(SERVICE)
    assert site.ready("web")
    assert {"node-controller", "service-controller", "route-controller"} <= {
        account["metadata"]["name"] for account in site.k8s.items(ACCOUNTS)}
    assert "forbidden" not in site.manager.process.output()
    site.delete("web")
