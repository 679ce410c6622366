"""`isthmus conformance` where there is nothing to test, or not enough."""

import subprocess

from harness import programs
from test_infra_api import with_tokens


def conformance(*flags):
    """(exit code, standard output, standard error)"""
    done = subprocess.run([programs.isthmus(), "conformance", *flags], capture_output=True, text=True,
                          timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def test_all_mistakes_of_a_command_line_are_named_and_nothing_is_asked(directory):
    code, out, err = conformance("--url", "http://lb1.example:1", "--token-file", f"{directory}/none",
                                 "--families", "IPv5", "--colour")
    assert (code, out) == (2, "")
    assert "in the open" in err and f"{directory}/none" in err
    assert "--families" in err and "--colour" in err


def test_a_cloud_that_is_not_there_is_told_once(directory):
    code, out, err = conformance("--url", f"unix://{directory}/none.sock", "--patience", "1s")
    assert code == 1
    check, reason, _, empty, end = out.splitlines()
    assert check.startswith("failed   check ") and f"{directory}/none.sock" in reason
    assert empty == err == ""
    assert end.startswith("Broken off, because the cloud cannot be asked: 0 passed, 1 failed, ")


def test_what_a_cloud_is_without_is_skipped_and_said(make_infra, directory):
    infra = make_infra([{"uid": "m1", "name": "node1"}], **with_tokens(directory))
    code, out, _ = conformance("--url", infra.url, "--token-file", f"{directory}/owner.token")
    assert code == 0, out
    assert "passed   instances-get " in out
    assert "skipped  create " in out and "has no host" in out
    assert "failed " not in out
