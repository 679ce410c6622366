"""`isthmus reference`: the pages that are made of the program's own tables are those of docs."""

import os
import re
import subprocess

import pytest

from harness import programs, rights


def reference(*arguments):
    """(exit code, standard output, standard error)"""
    done = subprocess.run([programs.isthmus(), "reference", *arguments], capture_output=True, text=True,
                          timeout=30, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("page", ["annotations", "conformance", "events", "flags", "metrics"])
def test_a_page_of_the_reference_is_what_the_program_says(page):
    code, out, err = reference(page)
    assert (code, err) == (0, "")
    path = os.path.join(programs.ROOT, "docs/reference", page + ".md")
    with open(path, encoding="utf-8") as file:
        assert file.read() == out, f"isthmus reference {page} > docs/reference/{page}.md"


def test_a_page_that_is_not_there_is_told_with_those_that_are():
    for arguments in ((), ("weather",), ("annotations", "conformance")):
        code, out, err = reference(*arguments)
        assert (code, out) == (2, "")
        assert "annotations" in err and "conformance" in err


def test_every_key_of_the_files_is_on_its_page():
    with open(os.path.join(programs.ROOT, "docs/reference/configuration.md"), encoding="utf-8") as file:
        told = set(re.findall(r"[A-Za-z]+", " ".join(re.findall(r"`([^`]+)`", file.read()))))
    for path, pattern in (("infra/config.cc", r'(?:required|optional)\("(\w+)"'),
                          ("infra/inventory.cc", r'(?:required|optional|machine),? ?\(?"(\w+)"'),
                          ("providers/infra/config.cc", r'key == "(\w+)"')):
        with open(os.path.join(programs.ROOT, "isthmus", path), encoding="utf-8") as file:
            read = set(re.findall(pattern, file.read()))
        assert len(read) >= 4, path
        assert read - told == set(), path


def rows(page):
    """The cells of a page's tables, without the backticks."""
    code, out, _ = reference(page)
    assert code == 0
    lines = [line.strip("| ") for line in out.splitlines() if line.startswith("| `")]
    return [[cell.strip("` ") for cell in line.split(" | ")] for line in lines]


def sources():
    """{path: text} of the program, but for tests and the pages themselves."""
    found = {}
    for place, _, names in os.walk(os.path.join(programs.ROOT, "isthmus")):
        for name in names:
            if re.search(r"\.(cc|h)$", name) and not re.search(r"_(test|testing|reference)\.", name):
                with open(os.path.join(place, name), encoding="utf-8") as file:
                    found[os.path.join(place, name)] = file.read()
    return found


def test_every_metric_that_the_code_counts_is_on_its_page_with_its_kind():
    told = {row[0]: row[1] for row in rows("metrics")}
    counted = {}
    for text in sources().values():
        for kind, name in re.findall(r'\b(counter|gauge|histogram)\(\s*"(\w+)"', text):
            counted[name] = kind
    assert len(counted) > 50
    assert {name: told.get(name) for name in counted} == counted


def test_nothing_is_on_a_page_that_is_not_in_the_code():
    code = "\n".join(sources().values())
    for row in rows("metrics"):
        name = row[0]
        # Two files are watched, and their metrics are named after them.
        pieces = re.match(r"(infra_(?:inventory|config))(_loads_total|_last_load_.*|_mistakes)$", name)
        for piece in pieces.groups() if pieces else [name]:
            assert re.search(rf'"(\{{\}})?{piece}"', code), name
    for row in rows("events"):
        assert f'"{row[0]}"' in code, row


# conftest.py makes it one of the last.
def test_every_event_of_the_whole_story_is_on_its_page(all_audit_logs):
    told = set()
    about = None
    for line in reference("events")[1].splitlines():
        if line.startswith("## "):
            about = line.removeprefix("## ")
        elif row := re.match(r"\| `(\w+)` \| (\w+) \|", line):
            told.add((row[2], about, row[1]))
    posted = set().union(*(rights.events(log) for log in all_audit_logs))
    assert posted - told == set()
