"""`make deb`: what the Debian package installs, and that its systemd units hold what they say."""

import os
import re
import shutil
import subprocess

import pytest

from harness import programs
from harness.isthmus import Infra

UNITS = ("isthmus-infra.service", "isthmus-run.service")
SYSTEM = "usr/lib/systemd/system"
DOC = "usr/share/doc/isthmus"
# On systemd's scale from 0 to 10; its own verdict up to 4 is "ok".
EXPOSURE_MAX = {"isthmus-infra.service": 2.5, "isthmus-run.service": 1.5}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The path of the package, made by cpack of whichever build is tested."""
    folder = tmp_path_factory.mktemp("package")
    build = os.path.dirname(os.path.dirname(programs.isthmus()))
    subprocess.run(["cpack", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", folder],
                   check=True, capture_output=True)
    (path,) = folder.glob("*.deb")
    return path


@pytest.fixture(scope="module")
def root(tmp_path_factory, package):
    """Its files, and beside them the units of this machine, on which ours stand."""
    folder = tmp_path_factory.mktemp("root")
    shutil.copytree("/" + SYSTEM, folder / SYSTEM, symlinks=True)
    subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
    return folder


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], check=True, capture_output=True,
                          text=True).stdout.strip()


def test_it_says_what_it_is_and_what_it_needs(package):
    assert field(package, "Package") == "isthmus"
    assert field(package, "Section") == "admin"
    needed = field(package, "Depends")
    for name in ("ca-certificates", "systemd", "libc6", "libcurl4", "libnftnl11"):
        assert re.search(rf"\b{name}\b", needed), needed


def test_every_file_belongs_to_root_and_stands_where_debian_wants_it(package):
    listed = subprocess.run(["dpkg-deb", "--contents", package], check=True, capture_output=True,
                            text=True).stdout.splitlines()
    for line in listed:
        mode, owner = line.split()[:2]
        assert owner == "root/root" and mode[8] == "-", line
    paths = {line.split()[-1] for line in listed}
    assert {"./usr/bin/isthmus", "./usr/lib/sysusers.d/isthmus.conf",
            f"./{DOC}/copyright", f"./{DOC}/guides/install.md", f"./{DOC}/manifests/rbac.yaml",
            *(f"./{SYSTEM}/{unit}" for unit in UNITS)} <= paths


def test_the_program_in_it_runs(root):
    done = subprocess.run([root / "usr/bin/isthmus", "version"], capture_output=True, text=True,
                          check=True)
    assert done.stdout.startswith("isthmus v")


def test_its_scripts_are_shell_that_parses(package, tmp_path):
    subprocess.run(["dpkg-deb", "--control", package, tmp_path / "control"], check=True)
    for name in ("postinst", "prerm", "postrm"):
        script = tmp_path / "control" / name
        assert os.access(script, os.X_OK)
        subprocess.run(["sh", "-n", script], check=True)


def test_systemd_finds_nothing_wrong_with_the_units(root):
    done = subprocess.run(["systemd-analyze", "verify", f"--root={root}", *UNITS],
                          capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "isthmus" in line]
    assert (done.returncode, ours) == (0, []), done.stderr


@pytest.mark.parametrize("unit", UNITS)
def test_systemd_finds_the_units_well_confined(root, unit):
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", f"--root={root}", unit,
                           "--no-pager"], capture_output=True, text=True, check=True)
    exposure = float(re.search(rf"exposure level for {unit}: ([\d.]+)", done.stdout)[1])
    assert exposure <= EXPOSURE_MAX[unit]


def test_the_backend_serves_its_example(root, tmp_path):
    """In a folder of the test instead of /etc, /run and /var/lib."""
    infra = Infra(tmp_path, start=False)
    for name in ("infra.yaml", "inventory.yaml"):
        text = (root / DOC / "examples" / name).read_text()
        text = re.sub("/(etc|run|var/lib)/isthmus/", f"{tmp_path}/", text)
        (tmp_path / name).write_text(text)

    infra.start()

    try:
        items = infra.client.request("GET", "/v1/instances").json()["items"]
    finally:
        infra.end()
    assert {each["metadata"]["name"] for each in items} == {"node1", "node2"}
