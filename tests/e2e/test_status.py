"""`isthmus status`: what it says, and what its exit code means."""

import subprocess

from harness import programs
from test_infra_api import OWNER, with_tokens


def status(*flags):
    """(exit code, standard output, standard error)"""
    done = subprocess.run([programs.isthmus(), "status", *flags], capture_output=True, text=True, timeout=30,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def test_where_nobody_answers_it_says_so(directory):
    code, out, err = status("--socket", f"{directory}/none.sock")
    assert (code, out) == (1, "")
    assert f"unix://{directory}/none.sock" in err


def test_all_mistakes_of_a_command_line_are_named_and_nothing_is_asked(directory):
    code, out, err = status("--url", "http://lb1.example:1", "--token-file", f"{directory}/none", "--colour")
    assert (code, out) == (2, "")
    assert "in the open" in err and f"{directory}/none" in err and "--colour" in err


def test_a_backend_without_a_host_has_no_load_balancers_to_tell_of(make_infra):
    infra = make_infra()
    code, out, err = status("--config", infra.config)
    assert (code, out) == (1, "")
    assert "holds no load balancers" in err


def test_whoever_has_no_token_is_told_how_to_give_one(make_infra, directory):
    infra = make_infra(**with_tokens(directory))
    code, _, err = status("--socket", infra.socket)
    assert code == 1
    assert "--token-file" in err and OWNER not in err
