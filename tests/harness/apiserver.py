"""The real kube-apiserver of tests/apiserver, started, crashed, restarted, compacted."""

import json
import os
import urllib.request

from . import kube, programs, rights
from .processes import Process

# How long it may take until it is ready. One second is usual; beside a build it takes ten.
START_SECONDS = 120


class ApiServer:
    """Attributes: server (URL), kubeconfig (of the admin), manager_kubeconfig (of the service account
    that deploy/manifests make for managers) and ca (files), kube (Kube as admin), kubectl."""

    def __init__(self, directory, *, users=(), flags=(), audit_log=None):
        """users: NAME or NAME:GROUP,GROUP; see kubeconfig_of. flags: extra ones, passed on.
        audit_log: a file for all that managers ask; see rights.calls."""
        self.directory = str(directory)
        if audit_log:
            flags = [*flags, f"--audit-policy-file={self._write_policy()}",
                     f"--audit-log-path={audit_log}"]
        self._arguments = [word for user in users for word in ("--user", user)]
        self._arguments += ["--", *flags]
        self._process = None
        self.start()

    def start(self):
        """Also after kill(): same state, same port, same certificate."""
        self._process = Process(
            "apiserver", [programs.apiserver(), "--dir", self._path("state"), *self._arguments],
            self._path("apiserver.log"), pipes=True)
        facts = json.loads(self._process.read_line(START_SECONDS))
        self.server = facts["server"]
        self.kubeconfig = facts["kubeconfig"]
        self._etcd = facts["etcd"]
        self.ca = self._path("state/certs/apiserver.crt")
        self.kube = kube.Kube(self.server, self.ca)
        self.kubectl = kube.Kubectl(self.kubeconfig)
        self.manager_kubeconfig = self._write_manager_kubeconfig()

    def cpu_seconds(self):
        """That it has been busy since it was started last."""
        return self._process.cpu_seconds()

    def kubeconfig_of(self, user):
        return self._path(f"state/{user}.kubeconfig")

    def kill(self):
        self._process.kill()
        self._process.end()

    def end(self):
        # Its standard input is what keeps it alive.
        self._process.stdin.close()
        self._process.end()

    def compact(self, revision):
        """Makes etcd forget what was before `revision`."""
        body = json.dumps({"revision": revision, "physical": True}).encode()
        urllib.request.urlopen(self._etcd + "/v3/kv/compaction", body, timeout=10).close()

    def account_kubeconfig(self, account):
        """A file for programs that are to be a service account of kube-system."""
        with open(self.kubeconfig, encoding="utf-8") as file:
            text = file.read().replace("admin-token", rights.token(self.kube, account))
        path = self._path(f"state/account-{account}.kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def _write_manager_kubeconfig(self):
        rights.install(self.kube)
        return self.account_kubeconfig(rights.ACCOUNT)

    def _write_policy(self):
        with open(self._path("audit-policy.yaml"), "w", encoding="utf-8") as file:
            json.dump(rights.AUDIT_POLICY, file)
        return file.name

    def _path(self, name):
        return os.path.join(self.directory, name)
