"""Waiting for a condition, with a deadline."""

import threading
import time

# How often a condition is asked. Short, since most conditions are a look into memory or a file.
PAUSE_SECONDS = 0.05


class TooLate(AssertionError):
    """A condition did not come true in time; says what the last look saw."""


def until(condition, seconds=20, what=""):
    """The first true value that `condition` returns; asks again and again for at most `seconds`.

    An AssertionError inside counts as "not yet", so that a condition can be a list of assertions
    (a condition that returns None without one holds). Whatever else it raises is passed on.
    """
    deadline = time.monotonic() + seconds
    while True:
        seen = None
        try:
            seen = condition()
            if seen or seen is None:
                return seen
        except AssertionError as reason:
            seen = reason
        if time.monotonic() > deadline:
            what = what or condition.__name__
            raise TooLate(f"not within {seconds} s: {what}; last seen: {seen}")
        threading.Event().wait(PAUSE_SECONDS)


def never_during(condition, seconds, what=""):
    """Looks for `seconds` whether `condition` ever becomes true; for what must not happen."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        seen = condition()
        assert not seen, f"happened although it must not: {what or condition.__name__}: {seen}"
        threading.Event().wait(PAUSE_SECONDS)
