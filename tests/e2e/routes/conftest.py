"""Fixtures of the tests of routes."""

import os

import pytest

from routed import FLAGS, Routed


@pytest.fixture
def site(directory, stage, apiserver, get_net):
    net = get_net(flat=False, rootless=None, machines=4)
    net.reset()
    return stage.add(Routed(os.path.join(directory, "site"), apiserver, net))


@pytest.fixture
def cluster(site):
    """Three of the four machines are Nodes, and their pods talk."""
    site.start_manager(*FLAGS)
    site.join(*site.net.machines[:3])
    site.until_routed(*site.net.machines[:3])
    return site
