"""`make image`: what is in it, that it runs, and that it is the same however often it is made."""

import hashlib
import json
import os
import shutil
import subprocess
import tarfile

import pytest

from harness import netns, programs

NAME = "registry.example/isthmus:test"


def make(path, **variables):
    subprocess.run([os.path.join(programs.ROOT, "tools/image"), programs.isthmus(), path, NAME],
                   check=True, capture_output=True, env={**os.environ, **variables})
    return path


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return make(tmp_path_factory.mktemp("image") / "isthmus.tar")


@pytest.fixture(scope="module")
def layout(archive):
    """{path: content} of the archive."""
    with tarfile.open(archive) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


@pytest.fixture(scope="module")
def config(layout):
    """(image configuration, path of the only layer), by the digests that lead to them."""
    (image,) = json.loads(layout["index.json"])["manifests"]
    manifest = json.loads(blob(layout, image))
    (layer,) = manifest["layers"]
    return json.loads(blob(layout, manifest["config"])), layer


@pytest.fixture(scope="module")
def root(tmp_path_factory, layout, config):
    """The files of the image, unpacked, without their owners."""
    path = tmp_path_factory.mktemp("root")
    packed = path.parent / (path.name + ".tar.gz")
    packed.write_bytes(blob(layout, config[1]))
    with tarfile.open(packed) as tar:
        tar.extractall(path)
    return path


def blob(layout, descriptor):
    content = layout["blobs/" + descriptor["digest"].replace(":", "/")]
    assert "sha256:" + hashlib.sha256(content).hexdigest() == descriptor["digest"]
    assert len(content) == descriptor["size"]
    return content


def run(root, program, *arguments):
    """Runs a program of the image with nothing else of this machine in reach."""
    enter = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
    return subprocess.run([*enter, "chroot", root, program, *arguments], capture_output=True,
                          text=True, timeout=30, check=False)


def test_made_twice_it_is_the_same_and_knows_no_clock(archive, tmp_path):
    again = make(tmp_path / "again.tar")
    later = make(tmp_path / "later.tar", SOURCE_DATE_EPOCH="1700000000")

    assert archive.read_bytes() == again.read_bytes()
    assert archive.read_bytes() != later.read_bytes()


def test_containerd_and_docker_are_told_its_name(layout):
    (image,) = json.loads(layout["index.json"])["manifests"]
    assert image["annotations"]["io.containerd.image.name"] == NAME
    (old,) = json.loads(layout["manifest.json"])
    assert old["RepoTags"] == [NAME]
    assert old["Config"] in layout and set(old["Layers"]) <= set(layout)


def test_it_starts_as_nobody_and_says_what_it_is(config):
    settings = config[0]["config"]
    assert settings["Entrypoint"] == ["/isthmus"]
    assert settings["User"] == "65532:65532"
    version = subprocess.run([programs.isthmus(), "version"], capture_output=True, text=True,
                             check=True).stdout.split("v")[1].strip()
    labels = settings["Labels"]
    assert labels["org.opencontainers.image.version"] == version
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_the_program_runs_by_both_names_with_what_is_in_it(root):
    if os.geteuid() != 0 and (reason := netns.why_not(True)):
        pytest.skip(f"no user namespace here: {reason}")
    for program in ("/isthmus", "/cloud-controller-manager"):
        done = run(root, program, "--version" if "cloud" in program else "version")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("isthmus v")


def test_nothing_is_in_it_but_the_program_and_what_it_needs(root):
    programs_of_it = {path.name for path in root.rglob("*")
                      if path.is_file() and os.access(path, os.X_OK) and ".so" not in path.name}
    assert programs_of_it == {"isthmus", "cloud-controller-manager"}
    for path in root.rglob("*"):
        assert path.lstat().st_mode & 0o6000 == 0, f"{path} runs as somebody else"
        assert path.is_symlink() or path.lstat().st_mode & 0o002 == 0, f"{path} is everybody's"
    assert (root / "etc/passwd").read_text().splitlines()[1].startswith("nonroot:x:65532:65532:")
    bundle = (root / "etc/ssl/certs/ca-certificates.crt").read_text()
    assert bundle.count("BEGIN CERTIFICATE") > 100


def test_scanners_and_lawyers_find_each_package(root):
    told = {path.name for path in (root / "var/lib/dpkg/status.d").iterdir()}
    assert {"libc6", "libssl3", "libcurl4", "ca-certificates"} <= told
    for name in told:
        status = (root / "var/lib/dpkg/status.d" / name).read_text()
        assert f"Package: {name}\n" in status and "\nVersion: " in status
        assert (root / "usr/share/doc" / name / "copyright").stat().st_size > 0


def test_a_library_that_is_not_there_is_an_error(tmp_path):
    """And no image is left that somebody might load."""
    binary = tmp_path / "isthmus"
    shutil.copy(programs.isthmus(), binary)
    content = binary.read_bytes()
    assert b"libyaml-cpp.so.0.7\0" in content
    binary.write_bytes(content.replace(b"libyaml-cpp.so.0.7\0", b"libyaml-cpp.so.9.9\0"))

    done = subprocess.run([os.path.join(programs.ROOT, "tools/image"), binary, tmp_path / "out.tar"],
                          capture_output=True, text=True, check=False)

    assert done.returncode != 0
    assert "libyaml-cpp.so.9.9" in done.stderr
    assert not (tmp_path / "out.tar").exists()
