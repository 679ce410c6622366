"""`isthmus plan` and `isthmus explain`, as somebody with the manager's files runs them."""

import json
import subprocess

from . import programs


def look(site, *words, kubeconfig=None, cloud=True):
    """(exit code, standard output, standard error) of a command that looks at this site."""
    flags = [f"--kubeconfig={kubeconfig or site.server.kubeconfig}"]
    if cloud:
        flags.append(f"--cloud-config={site.infra.cloud_config}")
    done = subprocess.run([programs.isthmus(), *words, *flags], capture_output=True, text=True,
                          timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def plan(site, *words):
    """(exit code, {object: item}) of `isthmus plan`; an object is "node/n1"."""
    code, out, err = look(site, "plan", *words, "--detailed-exitcode", "-o=json")
    assert out, err
    items = json.loads(out)["items"]
    return code, {named(item["object"]): item for item in items}


def named(obj):
    space = obj["namespace"] + "/" if obj["namespace"] else ""
    return f"{obj['kind'].lower()}/{space}{obj['name']}"


class Chain:
    """What `isthmus explain` answered. Attributes: code, broken (name of the link, or None), links
    (by name), last (the last link), text (all of it)."""

    def __init__(self, code, out, err):
        assert out, err
        said = json.loads(out)
        self.code = code
        self.broken = said["broken"]
        self.links = {link["name"]: link for link in said["links"]}
        self.last = said["links"][-1]
        self.events = said["events"]
        self.text = out


def explain(site, kind, name, *flags, **arguments):
    words = [kind, name if kind == "node" else f"default/{name}"]
    return Chain(*look(site, "explain", *words, "-o=json", *flags, **arguments))
