"""Fixtures of the tests in a whole real cluster. Root only."""

import contextlib
import os
import shutil
import sys
import tempfile

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, HERE)

# pylint: disable=wrong-import-position
from cluster import Cluster  # noqa: E402
from harness.processes import Stage  # noqa: E402


def pytest_collection_modifyitems(items):
    if os.geteuid() != 0:
        for item in items:
            if item.fspath.dirname == HERE:
                item.add_marker(pytest.mark.skip(reason="a real cluster needs root"))


@pytest.fixture(scope="session")
def clusters(request):
    """clusters(cloud): the running cluster of that kind. One runs at a time; asking for the other
    kind ends it, and so does asking for one that no other test uses: clusters(cloud, name)."""
    with contextlib.ExitStack() as stack:
        made = {}

        def get(*kind):
            if kind not in made:
                stack.close()
                made.clear()
                made[kind] = stack.enter_context(running_cluster(request, kind[0]))
            return made[kind]

        yield get


@contextlib.contextmanager
def running_cluster(request, cloud):
    directory = tempfile.mkdtemp(prefix="isthmus-cluster-")
    failed_before = request.session.testsfailed
    with Stage() as stage:
        yield stage.add(Cluster(directory, cloud=cloud))
    if request.session.testsfailed > failed_before:
        print(f"logs are kept in {directory}")
    else:
        shutil.rmtree(directory)


@pytest.fixture(scope="module")
def cluster(clusters):
    """Kubelets that wait for a cloud controller manager."""
    return clusters("external")


@pytest.fixture
def road(whole_road):
    """The one of the module, with no Service before and after."""
    yield whole_road
    whole_road.delete("web", "near")
