"""What tests apply: pods that say who and where they are, and Services in front of them."""

IMAGE = "example.test/echo:1"
PORTS = [{"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"},
         {"name": "dns", "port": 53, "targetPort": 5353, "protocol": "UDP"}]


def echo_everywhere(name="echo"):
    """A pod on every Node."""
    return _workload("DaemonSet", name, {})


def echo_on(node, name="single"):
    """One pod, on this Node."""
    return _workload("Deployment", name, {"nodeSelector": {"kubernetes.io/hostname": node}})


def service(name, *, of="echo", ports=PORTS, annotations=None, **spec):
    """Type LoadBalancer unless `spec` says otherwise; `of`: whose pods."""
    return {"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
            "spec": {"type": "LoadBalancer", "selector": {"app": of}, "ports": ports, **spec}}


def _workload(kind, name, pod):
    container = {"name": "echo", "image": IMAGE, "imagePullPolicy": "Never",
                 "env": [{"name": "NODE_NAME",
                          "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
                 "readinessProbe": {"httpGet": {"port": 8080}, "periodSeconds": 1}}
    # Pods are killed, not asked: nobody waits for them at the end.
    template = {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [container], "terminationGracePeriodSeconds": 0, **pod}}
    return {"apiVersion": "apps/v1", "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}}
