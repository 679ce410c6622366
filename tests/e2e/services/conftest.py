"""Fixtures of the tests of Services: a cluster on machines in a network, with real packets.

Making a site takes longer than most tests. So one stays for the next test that wants one like it,
if its test has passed and left it as it was: each must leave nothing in the cloud and the kernel.
"""

import os
import shutil
import tempfile

import pytest

from harness.processes import Stage, sanitizer_findings
from harness.site import Site

# Services' deletions and Nodes' changes are waited for, the manager's own patience is not tested.
FLAGS = ["--load-balancer-orphan-grace=2s"]


class Keeper:
    """Has at most one site, since they would share the API server and the network."""

    def __init__(self, server):
        self._server = server
        self._stage = Stage()
        self._kind = None
        self._directory = None  # None, too, where it is to be kept.
        self.site = None

    def give(self, net, kind, flags, joined, arguments):
        if self.site is None or self._kind != (net, kind):
            self.end()
            self._make(net, flags, joined, arguments)
            self._kind = (net, kind)
        return self.site

    def take_back(self, passed):
        """Errors are those of a test that leaves something behind."""
        if self.site is None:
            return
        if not passed:
            self._directory = None  # Logs of a failed test are kept.
        if not passed or self.site.is_spoilt():
            self.end()
            return
        try:
            self.site.restore()
        except BaseException:
            self._directory = None
            self.end()
            raise

    def end(self):
        self._stage.close()
        self._kind = self.site = None
        directory, self._directory = self._directory, None
        if directory:
            findings = sanitizer_findings(directory)
            assert not findings, f"{findings}; logs are kept in {directory}"
            shutil.rmtree(directory)

    def _make(self, net, flags, joined, arguments):
        self._server.kube.clean()
        net.reset()
        self._directory = tempfile.mkdtemp(prefix="isthmus-")
        path = os.path.join(self._directory, "site")
        self.site = self._stage.add(Site(path, self._server, net, **arguments))
        self.site.start_manager(*flags)
        self.site.join(*net.machines[:joined])
        if joined and not flags[len(FLAGS) + 1:]:
            self.site.settle()

    @property
    def directory(self):
        return self._directory


@pytest.fixture(scope="module")
def keeper(shared_apiserver):
    kept = Keeper(shared_apiserver)
    yield kept
    kept.end()


@pytest.fixture
def make_site(request, keeper, get_net):
    """make_site(flat=…, shares=…, flags=…, joined=…): a site with `joined` of its four machines
    initialized; more arguments are Site's. One that is like the last test's may be that one."""
    def make(*, flat=False, shares=True, flags=(), joined=3, rootless=None, **arguments):
        net = get_net(flat=flat, rootless=rootless, machines=4)
        kind = repr((shares, flags, joined, arguments))
        all_flags = [*FLAGS, f"--lb-target-sets={str(shares).lower()}", *flags]
        made = keeper.give(net, kind, all_flags, joined, arguments)
        request.node.logs = keeper.directory
        return made
    yield make
    report = getattr(request.node, "report_call", None)
    keeper.take_back(report is not None and report.passed)


@pytest.fixture(scope="module", params=["routed", "flat"])
def topology(request):
    """Of a module's scope, so that tests of one topology run one after the other."""
    return request.param


@pytest.fixture
def site(topology, make_site):
    """The host as the machines' gateway, which keeps clients' addresses, and Nodes as one target
    set; and one among its machines, which masquerades, and targets inline."""
    flat = topology == "flat"
    return make_site(flat=flat, shares=not flat)


@pytest.fixture
def routed(make_site):
    return make_site()
