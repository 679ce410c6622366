#!/usr/bin/env python3
"""oci.py NAME BINARY OUT: an OCI image archive of one static binary; no test needs a registry."""

import hashlib
import io
import json
import sys
import tarfile


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def archive(files):
    """The bytes of a tar of {name: (mode, content)}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, (mode, content) in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), mode
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def blob(media, content):
    """What an OCI index or manifest says about a blob."""
    kind = "application/vnd.oci.image." + media
    return {"mediaType": kind, "digest": digest(content), "size": len(content)}


def image(name, binary):
    layer = archive({"app": (0o755, binary)})
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "config": {"Entrypoint": ["/app"]},
        "rootfs": {"type": "layers", "diff_ids": [digest(layer)]},
    }).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": blob("config.v1+json", config), "layers": [blob("layer.v1.tar", layer)],
    }).encode()
    names = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
    index = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [blob("manifest.v1+json", manifest) | {"annotations": names}],
    }).encode()
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": index}
    for content in (layer, config, manifest):
        files["blobs/sha256/" + digest(content).removeprefix("sha256:")] = content
    return archive({path: (0o644, content) for path, content in files.items()})


if __name__ == "__main__":
    name, binary, out = sys.argv[1:4]
    with open(binary, "rb") as source, open(out, "wb") as target:
        target.write(image(name, source.read()))
