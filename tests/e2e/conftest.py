"""Fixtures of the end-to-end tests: the real API server, the backend and the manager.

One API server serves all tests of a run; each test leaves it empty. What a test breaks on purpose
(restart, compaction) it starts for itself with `make_apiserver`. Logs of a failed test are kept and
their directory is printed with the failure.
"""

import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position
from harness import isthmus, netns, proxy  # noqa: E402
from harness.apiserver import ApiServer  # noqa: E402
from harness.processes import Stage, sanitizer_findings  # noqa: E402
from harness.topology import Topology  # noqa: E402


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Lets fixtures know how their test ended, and names the logs beside a failure."""
    report = (yield).get_result()
    setattr(item, "report_" + call.when, report)
    directory = getattr(item, "logs", None)
    if report.failed and directory:
        report.sections.append(("logs", f"kept in {directory}"))


# They look back at what all the others did.
LAST = ("test_the_whole_story_needs_exactly_the_role",
        "test_every_event_of_the_whole_story_is_on_its_page")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """The last ones last; or apart from the others, where tests/e2e/run asks for a part."""
    part = os.environ.get("ISTHMUS_E2E_PART")
    items.sort(key=lambda item: item.name in LAST)
    if part:
        left_out = [item for item in items if (item.name in LAST) != (part == "afterwards")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session")
def audit_logs(tmp_path_factory):
    """A directory with the audit logs of all API servers of this process; see rights.calls."""
    shared = os.environ.get("ISTHMUS_AUDIT_LOGS")
    if not shared:
        return tmp_path_factory.mktemp("audit")
    return pathlib.Path(tempfile.mkdtemp(dir=shared))


@pytest.fixture
def all_audit_logs(audit_logs):
    """Every audit log there is; of a run of tests/e2e/run those of its other processes, too."""
    return list(pathlib.Path(os.environ.get("ISTHMUS_AUDIT_LOGS", audit_logs)).rglob("*.log"))


@pytest.fixture(scope="session")
def shared_apiserver(audit_logs):
    directory = tempfile.mkdtemp(prefix="isthmus-apiserver-")
    with Stage() as stage:
        yield stage.add(ApiServer(directory, users=["isthmus"], audit_log=audit_logs / "shared.log"))
    shutil.rmtree(directory)


@pytest.fixture
def apiserver(shared_apiserver):
    """The API server with no Node, no Event and no lease."""
    shared_apiserver.kube.clean()
    return shared_apiserver


@pytest.fixture
def k8s(apiserver):
    """The Kubernetes API as admin."""
    return apiserver.kube


@pytest.fixture
def directory(request):
    """A directory for this test; kept when it fails. Short, since it holds unix sockets."""
    path = tempfile.mkdtemp(prefix="isthmus-")
    request.node.logs = path
    yield path
    findings = sanitizer_findings(path)
    reports = [getattr(request.node, "report_" + when, None) for when in ("setup", "call")]
    if not findings and not any(report and report.failed for report in reports):
        shutil.rmtree(path)
    assert not findings, f"{findings}; logs are kept in {path}"


@pytest.fixture
def stage(directory):
    """Ends all that the test has started, before its directory goes."""
    with Stage() as stage:
        yield stage


@pytest.fixture
def make_infra(directory, stage):
    """make_infra(machines, **config) starts a backend; see isthmus.Infra."""
    def make(machines=(), name="infra", **config):
        return stage.add(isthmus.Infra(os.path.join(directory, name), machines, **config))
    return make


@pytest.fixture
def make_manager(directory, stage, apiserver):
    """make_manager(infra, *flags) starts a manager.

    `infra`: an Infra or the path of a cloud configuration; kubeconfig: another way to the server, or
    another user than the service account of deploy/manifests.
    """
    def make(infra, *flags, name="manager", kubeconfig=None, **arguments):
        return stage.add(isthmus.Manager(
            directory, kubeconfig or apiserver.manager_kubeconfig,
            getattr(infra, "cloud_config", infra), *flags, name=name, **arguments))
    return make


@pytest.fixture
def make_apiserver(directory, stage, audit_logs):
    """make_apiserver() starts one for this test alone."""
    def make(**arguments):
        path = os.path.join(directory, "apiserver")
        os.makedirs(path)
        log = audit_logs / (os.path.basename(directory) + ".log")
        return stage.add(ApiServer(path, audit_log=log, **arguments))
    return make


@pytest.fixture
def slow_infra(directory, stage, make_infra):
    """slow_infra(machines): (infra, wire); a manager given `infra` reaches it through `wire`."""
    def make(machines):
        infra = make_infra(machines)
        path = os.path.join(directory, "wire.sock")
        wire = stage.add(proxy.Proxy(path, infra.socket))
        infra.cloud_config = isthmus.write_cloud_config(
            os.path.join(directory, "wire.yaml"), "unix://" + path)
        return infra, wire
    return make


@pytest.fixture
def wired_kubeconfig(directory, stage):
    """wired_kubeconfig(apiserver): (kubeconfig, wire) through a wire that can be cut."""
    def make(server):
        host, port = server.server.removeprefix("https://").split(":")
        wire = stage.add(proxy.Proxy(("127.0.0.1", 0), (host, int(port))))
        path = os.path.join(directory, "wired.kubeconfig")
        with open(server.manager_kubeconfig, encoding="utf-8") as file:
            text = file.read().replace(server.server, f"https://127.0.0.1:{wire.port}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path, wire
    return make


@pytest.fixture
def kubectl(apiserver):
    return apiserver.kubectl


@pytest.fixture(scope="session")
def nets(tmp_path_factory):
    """The networks that tests use one after the other, by what they are."""
    made = {}
    with Stage() as stage:
        def get(**kind):
            key = tuple(sorted(kind.items()))
            if key not in made:
                made[key] = stage.add(Topology(tmp_path_factory.mktemp("net"), **kind))
            return made[key]
        yield get


@pytest.fixture
def get_net(nets):
    """get_net(flat=…, rootless=…, machines=…): a topology.Topology as the last test has left it."""
    def get(*, flat=False, rootless=None, **kind):
        rootless = os.geteuid() != 0 if rootless is None else rootless
        if reason := netns.why_not(rootless):
            pytest.skip(f"no namespaces here: {reason}")
        return nets(flat=flat, rootless=rootless, **kind)
    return get


@pytest.fixture
def make_net(get_net):
    """Likewise, as it was in the beginning."""
    def make(**kind):
        net = get_net(**kind)
        net.reset()
        return net
    return make
