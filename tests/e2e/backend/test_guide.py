"""docs/guides/backend.md, done as it says, from the first command to the last."""

import os
import re
import shutil
import subprocess

import pytest

from harness import netns, programs

GUIDE = os.path.join(programs.ROOT, "docs/guides/backend.md")

# Namespaces of its own for all that the guide touches (/run/netns, /tmp, network, processes), so
# that the names it uses are free there, and nothing of it is left on this machine.
ALONE = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
SET_UP = """
mkdir -p /run/netns
mount -t tmpfs netns /run/netns
mount --bind {tmp} /tmp
export PATH=/tmp/bin:$PATH
"""
LEFT = """
echo "left: $(echo $(ls /run/netns /tmp; cat /proc/[0-9]*/comm))"
"""


def blocks():
    with open(GUIDE, encoding="utf-8") as guide:
        return re.findall(r"^```sh\n(.*?)^```$", guide.read(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def tmp(directory):
    """What will be /tmp, with the program in its bin/."""
    path = os.path.join(directory, "tmp")
    os.makedirs(path + "/bin")
    shutil.copy(programs.isthmus(), path + "/bin/isthmus")
    return path


def test_the_guide_is_true(tmp):
    rootless = os.geteuid() != 0
    if reason := netns.why_not(rootless):
        pytest.skip(f"no namespaces here: {reason}")
    script = SET_UP.format(tmp=tmp) + "\n".join(blocks()) + LEFT
    alone = ALONE + (["--map-root-user"] if rootless else [])

    # Where we stand may lie in the /tmp that is hidden.
    done = subprocess.run([*alone, "bash", "-eu"], input=script, capture_output=True, text=True,
                          timeout=100, check=False, cwd="/")

    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    assert "\nhello from the machine\n" in done.stdout, done.stdout
    assert re.search(r"^local +web +10\.77\.0\.192 +True", done.stdout, re.MULTILINE), done.stdout
    left = re.search(r"^left: (.*)", done.stdout, re.MULTILINE)[1].split()
    assert left[:3] == ["/run/netns:", "/tmp:", "bin"], left
    assert set(left[3:]) <= {"bash", "cat"}, left
    assert os.listdir(tmp) == ["bin"]
