"""Where the programs are: ours, the test API server, kubectl."""

import functools
import os
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def isthmus():
    """ISTHMUS_BINARY, else what the dev preset built."""
    path = os.environ.get("ISTHMUS_BINARY") or os.path.join(ROOT, "build/dev/bin/isthmus")
    if not os.access(path, os.X_OK):
        raise FileNotFoundError(f"{path} is not there: build it with `make`, or set ISTHMUS_BINARY")
    return os.path.abspath(path)


def apiserver():
    ready = os.environ.get("ISTHMUS_TEST_APISERVER")
    return ready or os.path.join(_built("apiserver"), "apiserver")


def kubectl():
    ready = os.environ.get("ISTHMUS_TEST_KUBECTL")
    return ready or os.path.join(_built("apiserver"), "kubectl")


def cluster():
    """The directory with every program of tests/cluster."""
    return _built("cluster")


@functools.cache
def _built(what):
    script = os.path.join(ROOT, "tests", what, "build")
    return subprocess.run([script], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
