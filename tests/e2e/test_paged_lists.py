"""An API server that cannot stream a list, as those before Kubernetes 1.34 are by default."""

import os

from harness import rights
from harness.rights import Right
from harness.site import Site

SERVICE = {"apiVersion": "v1", "kind": "Service",
           "metadata": {"name": "web", "namespace": "default"},
           "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}}


def test_where_lists_cannot_be_streamed_they_are_read_by_pages(make_apiserver, make_net, directory,
                                                              stage, audit_logs):
    server = make_apiserver(flags=["--feature-gates=WatchList=false"])
    net = make_net()
    site = stage.add(Site(os.path.join(directory, "site"), server, net))

    site.start_manager(f"--authentication-kubeconfig={server.manager_kubeconfig}")

    site.join(*net.machines)
    assert site.serve(SERVICE)
    asked = rights.calls(audit_logs / (os.path.basename(directory) + ".log"))
    assert {Right("", "nodes", "list"), Right("", "services", "list"),
            *(Right("", "configmaps", "list", rights.NAMESPACE, name)
              for name in ("isthmus-safety", "extension-apiserver-authentication"))} <= asked
    site.delete("web")
