"""Every mistake is named, all of one input together, and nothing has started."""

import json
import os
import re
import subprocess

import pytest

from harness import programs
from harness.isthmus import machine, write_cloud_config
from harness.wait import until

MISTAKEN = 2
# As upstream's manager answers.
RUN_MISTAKEN = 1


def run(*arguments, **environment):
    """(exit code, everything printed); a program that does not end at once is a failure."""
    done = subprocess.run([programs.isthmus(), *map(str, arguments)], capture_output=True,
                          text=True, timeout=20, check=False, env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text if isinstance(text, str) else json.dumps(text))
    return path


@pytest.fixture
def cloud(directory):
    return write_cloud_config(directory + "/cloud.yaml", f"unix://{directory}/none.sock")


def test_all_wrong_flags_are_named_together(shared_apiserver, cloud):
    code, text = run(
        "run", f"--cloud-config={cloud}", f"--kubeconfig={shared_apiserver.kubeconfig}",
        "--no-such-flag=1", "--kube-api-qps=fast", "--concurrent-node-syncs=0",
        "--leader-elect-lease-duration=5s", "--secure-port=70000", "--leader-elect=perhaps",
        "surplus")

    assert code == RUN_MISTAKEN
    for name in ("--cloud-provider", "--no-such-flag", "--kube-api-qps",
                 "--concurrent-node-syncs", "--leader-elect-lease-duration", "--secure-port",
                 "--leader-elect", "surplus"):
        assert name in text, text
    assert len([line for line in text.splitlines() if line.strip()]) < 20, text


@pytest.mark.parametrize("flags, named", [
    (["--cloud-provider=aws"], "aws"),
    (["--leader-elect-resource-lock=endpoints"], "endpoints"),
    (["--leader-elect-renew-deadline=2s"], "--leader-elect-renew-deadline"),
    (["--tls-cert-file=/tmp/x.crt"], "--tls-private-key-file"),
    (["--node-status-update-frequency=0s"], "--node-status-update-frequency"),
    (["--logging-format=xml"], "xml"),
    (["--profiling=true"], "--profiling"),
    (["--tls-sni-cert-key=a.crt,a.key"], "--tls-sni-cert-key"),
    (["--requestheader-client-ca-file=/ca.crt"], "--requestheader-client-ca-file"),
    (["--feature-gates=NoSuchGate=true"], "NoSuchGate"),
    (["--feature-gates=DeclarativeValidation=false"], "DeclarativeValidation"),
    (["--webhooks=mine"], "--webhooks"),
    (["--enable-leader-migration", "--leader-elect=false"], "--enable-leader-migration"),
    (["--concurrent-service-syncs=0"], "--concurrent-service-syncs"),
    (["--concurrent-node-lifecycle-syncs=0"], "--concurrent-node-lifecycle-syncs"),
])
def test_a_wrong_flag_value_is_named(shared_apiserver, cloud, flags, named):
    code, text = run("run", "--cloud-provider=isthmus", f"--cloud-config={cloud}",
                     f"--kubeconfig={shared_apiserver.kubeconfig}", *flags)
    assert code == RUN_MISTAKEN
    assert named in text, text


def test_a_file_that_is_not_there_is_named(cloud):
    code, text = run("run", "--cloud-provider=isthmus", f"--cloud-config={cloud}",
                     "--kubeconfig=/nonexistent/kubeconfig")
    assert code == RUN_MISTAKEN
    assert "/nonexistent/kubeconfig" in text


def test_all_mistakes_of_a_cloud_configuration_are_named(shared_apiserver, directory):
    config = write(directory + "/cloud.yaml", "url: ftp://x\nurll: typo\ncaFile: 7\n")
    code, text = run("run", "--cloud-provider=isthmus", f"--cloud-config={config}",
                     f"--kubeconfig={shared_apiserver.kubeconfig}")
    assert code == RUN_MISTAKEN
    for word in ("ftp://x", "urll"):
        assert word in text, text


def test_a_kubeconfig_that_skips_verification_is_refused(shared_apiserver, cloud, directory):
    with open(shared_apiserver.kubeconfig, encoding="utf-8") as file:
        text = re.sub(r"certificate-authority-data: [^}]+", "insecure-skip-tls-verify: true",
                      file.read())
    assert "insecure" in text
    config = write(directory + "/kubeconfig", text)
    code, text = run("run", "--cloud-provider=isthmus", f"--cloud-config={cloud}",
                     f"--kubeconfig={config}")
    assert code == RUN_MISTAKEN
    assert "insecure-skip-tls-verify" in text


def test_flags_and_files_are_complained_about_together(directory):
    config = write(directory + "/cloud.yaml", "urll: typo\n")
    code, text = run("run", "--cloud-provider=isthmus", f"--cloud-config={config}",
                     "--kubeconfig=/nonexistent/kubeconfig", "--no-such-flag")
    assert code == RUN_MISTAKEN
    assert "--no-such-flag" in text


def test_a_kubeconfig_that_runs_a_program_is_refused(shared_apiserver, cloud, directory):
    with open(shared_apiserver.kubeconfig, encoding="utf-8") as file:
        text = re.sub(r"token: [^}\s]+", 'exec: {command: "/bin/true"}', file.read())
    assert "exec" in text
    config = write(directory + "/kubeconfig", text)
    code, text = run("run", "--cloud-provider=isthmus", f"--cloud-config={cloud}",
                     f"--kubeconfig={config}")
    assert code == RUN_MISTAKEN
    assert "exec" in text


def test_all_mistakes_of_a_flag_file_and_a_migration_file_are_named_by_line(
        shared_apiserver, cloud, directory):
    migration = write(directory + "/migration.yaml", """\
apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: Bad_Name
controllerLeaders:
- {name: nodes, component: "*"}
- {name: service}
""")
    config = write(directory + "/run.yaml", f"""\
cloud-config: {cloud}
kubeconfig: {shared_apiserver.kubeconfig}
enable-leader-migration: true
leader-migration-config: {migration}
kube-api-qps: fast
cluster-nam: prod
secure-port: 70000
""")

    code, text = run("run", f"--config={config}", "--leader-elect=perhaps")

    assert code == RUN_MISTAKEN
    for words in (f"{config}: line 5: kube-api-qps", f"{config}: line 6: cluster-nam",
                  f"{config}: line 7: secure-port", f"{migration}: line 3: leaderName",
                  f"{migration}: line 5", f"{migration}: line 6", "--leader-elect: ",
                  "--cloud-provider"):
        assert words in text, text


def infra_config(directory, **keys):
    return {"listen": [f"unix:{directory}/s.sock"], "store": {"sqlite": directory + "/x.db"},
            "inventory": directory + "/inventory.yaml", "host": {"name": "lb1", "driver": "nft"},
            **keys}


def test_all_mistakes_of_the_backends_configuration_are_named(directory):
    write(directory + "/inventory.yaml", "instances: []\n")
    config = write(directory + "/infra.yaml", infra_config(
        directory, listen=["http://192.0.2.1:80"], lisen=[], host={"name": "lb1", "driver": "xdp"}))

    code, text = run("infra", "--config", config)

    assert code == MISTAKEN
    for word in ("lisen", "192.0.2.1", "xdp"):
        assert word in text, text
    assert not os.path.exists(directory + "/x.db")


def test_all_mistakes_of_an_inventory_are_named_by_line(directory):
    config = write(directory + "/infra.yaml", infra_config(directory))
    write(directory + "/inventory.yaml", """\
instances:
- {name: no-uid}
- {uid: a, name: Bad_Name}
- {uid: b, name: node2, addresses: [{type: InternalIP, address: 10.0.0.300}]}
- {uid: c, name: node3, colour: blue}
- {uid: c, name: node4}
""")

    code, text = run("infra", "--config", config)

    assert code == MISTAKEN
    for word in ("line 2", "line 3", "line 4", "line 5", "line 6", "uid", "Bad_Name",
                 "10.0.0.300", "colour"):
        assert word in text, text


def test_an_inventory_that_breaks_while_served_leaves_the_last_good_one(make_infra):
    infra = make_infra([machine("node1")])
    before = infra.client.request("GET", "/v1/instances").json()

    infra.write_inventory("instances:\n- {uid: a, name: Bad_Name}\n- {name: no-uid}\n")

    text = until(lambda: "[!]" in infra.client.request("GET", "/readyz").text
                 and infra.client.request("GET", "/readyz").text)
    assert "inventory" in text
    log = infra.process.output()
    assert "line 2" in log and "line 3" in log
    after = infra.client.request("GET", "/v1/instances").json()
    assert after == before

    infra.set_machines([machine("node1"), machine("node2")])
    until(lambda: len(infra.client.request("GET", "/v1/instances").json()["items"]) == 2)


def test_a_retired_uid_that_is_listed_again_is_refused_by_line_at_work_and_at_the_start(make_infra):
    infra = make_infra([machine("node1"), machine("node2", uid="u2", state="retired")])
    said = ("line 3: uid u2 was retired on ", "a new uid")

    infra.set_machines([machine("node1"), machine("node2", uid="u2")])

    until(lambda: all(words in infra.process.output() for words in said))
    items = infra.client.request("GET", "/v1/instances").json()["items"]
    assert [item["metadata"]["name"] for item in items] == ["node1"]
    infra.end()

    code, text = run("infra", "--config", infra.config)

    assert code == MISTAKEN
    for words in said:
        assert words in text, text


def test_an_unknown_subcommand_is_named():
    code, text = run("rum")
    assert code == MISTAKEN
    assert "rum" in text


def test_help_is_told_and_is_no_mistake():
    for arguments in (["--help"], ["run", "--help"], ["infra", "--help"]):
        code, text = run(*arguments)
        assert code == 0
        assert "isthmus" in text
