"""`isthmus reference`: the pages that are made of the program's own tables are those of docs."""

import os
import subprocess

import pytest

from harness import programs


def reference(*arguments):
    """(exit code, standard output, standard error)"""
    done = subprocess.run([programs.isthmus(), "reference", *arguments], capture_output=True, text=True,
                          timeout=30, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("page", ["annotations", "conformance"])
def test_a_page_of_the_reference_is_what_the_program_says(page):
    code, out, err = reference(page)
    assert (code, err) == (0, "")
    path = os.path.join(programs.ROOT, "docs/reference", page + ".md")
    with open(path, encoding="utf-8") as file:
        assert file.read() == out, f"isthmus reference {page} > docs/reference/{page}.md"


def test_a_page_that_is_not_there_is_told_with_those_that_are():
    for arguments in ((), ("flags",), ("annotations", "conformance")):
        code, out, err = reference(*arguments)
        assert (code, out) == (2, "")
        assert "annotations" in err and "conformance" in err
