"""The store: old copies, a full disk under it, damage, newer versions, and two that want it."""

import contextlib
import os
import sqlite3

import pytest

from harness.wait import until
from specs import condition, inline, names, problem
from wrapped import Wrapped

ADMIN = "admin-secret-token"


@pytest.fixture
def backend(net, make_backend, directory):
    with open(f"{directory}/admin.token", "w", encoding="utf-8") as file:
        file.write(ADMIN + "\n")
    return make_backend(net, adminTokenFile=f"{directory}/admin.token")


def store_files(backend):
    return [name for name in os.listdir(backend.infra.directory) if name.startswith("infra.db")]


def content(backend):
    """Of the store and what lies beside it, by file."""
    found = {}
    for name in store_files(backend):
        with open(backend.infra.path(name), "rb") as file:
            found[name] = file.read()
    return found


def keep_copy(backend):
    """A copy of the store, for restore()."""
    backend.infra.process.terminate()
    copy = content(backend)
    backend.infra.start()
    return copy


def restore(backend, copy):
    backend.infra.process.terminate()
    for name in store_files(backend):
        os.unlink(backend.infra.path(name))
    for name, data in copy.items():
        with open(backend.infra.path(name), "wb") as file:
            file.write(data)
    backend.infra.start()


def orphans(backend):
    answer = backend.client.request("GET", "/v1/orphans", token=ADMIN)
    assert answer.status == 200, answer.text
    return {orphan["metadata"]["name"]: orphan for orphan in answer.json()["items"]}


def test_an_old_copy_of_the_store_harms_nobody(net, backend):
    kept = backend.serve("kept", inline(net))["status"]["addresses"][0]
    copy = keep_copy(backend)
    lost = backend.serve("lost", inline(net, port=82))["status"]["addresses"][0]
    for port in (83, 84, 85):
        backend.serve("kept", inline(net, port=port))

    with net.asking(lost, 82) as load:
        restore(backend, copy)

        # Both keep serving as they did, the address is nobody else's, and it is told of.
        names(net.ask(kept, 85, count=3))
        assert backend.metric("infra_orphans") == 2
        assert orphans(backend).keys() == {"kept", "lost"}
        answer = backend.client.request(
            "PUT", backend.path("loadbalancers", "thief"),
            body={"metadata": {}, "spec": inline(net, addresses=[lost])})
        problem(answer, 409, "address-in-use")
        other = backend.serve("other", inline(net))["status"]["addresses"][0]
        assert other not in (kept, lost)

        # Their owner puts them again: with their addresses, above their generations.
        assert backend.serve("lost", inline(net, port=82))["status"]["addresses"] == [lost]
        assert backend.serve("kept", inline(net, port=86))["metadata"]["generation"] > 4
        names(net.ask(kept, 86, count=3))
        until(lambda: backend.metric("infra_orphans") == 0)
        counts = load.stop()
    assert counts["failed"] == 0, counts


def test_an_orphan_is_given_up_by_an_admin_only_under_v1_orphans(net, backend):
    copy = keep_copy(backend)
    address = backend.serve("lost", inline(net))["status"]["addresses"][0]
    restore(backend, copy)
    path = "/v1/orphans/local/lost"
    assert backend.client.request("DELETE", path, token="").status in (401, 403)
    names(net.ask(address, 80))
    assert orphans(backend)["lost"]["status"]["addresses"] == [address]

    answer = backend.client.request("DELETE", path, token=ADMIN)

    assert answer.status == 202, answer.text
    until(lambda: backend.metric("infra_orphans") == 0)
    assert not orphans(backend)
    until(lambda: net.bound() == set())
    problem(backend.client.request("DELETE", path, token=ADMIN), 404, "orphan-not-found")
    # Its address is anybody's again.
    backend.serve("new", inline(net, addresses=[address]))
    names(net.ask(address, 80))


def test_without_the_store_the_kernel_says_what_is_held(net, backend):
    address = backend.serve("web", inline(net))["status"]["addresses"][0]

    restore(backend, {})

    assert orphans(backend).keys() == {"web"}
    names(net.ask(address, 80, count=3))
    said = backend.serve("web", inline(net, port=81))
    assert said["status"]["addresses"] == [address] and said["metadata"]["generation"] > 1


def test_the_second_on_one_store_refuses(net, backend, make_backend):
    second = make_backend(net, name="second", start=False,
                          store={"sqlite": backend.infra.path("infra.db")})
    second.infra.launch()

    assert second.infra.process.wait(10) != 0
    said = second.infra.process.output()
    assert backend.infra.path("infra.db") in said and "another" in said, said
    backend.serve("web", inline(net))


def damage(path):
    """Somebody wrote over it."""
    with open(path, "r+b") as file:
        file.seek(2048)
        file.write(b"\xa5" * (os.path.getsize(path) - 2048))


def spoil(path):
    """It is no database at all."""
    with open(path, "wb") as file:
        file.write(b"shopping list: milk, bread\n" * 100)


def make_newer(path):
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        database.execute(f"PRAGMA user_version = {version + 1}")


def replace_records(path):
    """A record that a newer version wrote: with a field we do not know."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        changed = database.execute(
            "UPDATE entries SET value = '{\"tomorrow\":1,' || substr(value, 2) "
            "WHERE key LIKE '%web%' AND value LIKE '{%'").rowcount
        assert changed > 0


@pytest.mark.parametrize("harm, advice", [
    (damage, "restore a copy"), (spoil, "restore a copy"), (make_newer, "run that version"),
    (replace_records, "run that version")])
def test_a_store_it_cannot_read_is_left_as_it_is(net, backend, harm, advice):
    address = backend.serve("web", inline(net))["status"]["addresses"][0]
    backend.infra.process.terminate()
    harm(backend.infra.path("infra.db"))
    before = content(backend)["infra.db"]

    backend.infra.launch()

    assert backend.infra.process.wait(10) != 0
    said = backend.infra.process.output().splitlines()[-1]
    assert advice in said, said
    assert content(backend)["infra.db"] == before
    names(net.ask(address, 80, count=3))  # Nobody is the worse for it.


def test_a_full_disk_refuses_writes_and_nothing_else(net, make_backend, directory):
    place = os.path.join(directory, "small")
    os.mkdir(place)
    backend = make_backend(net, start=False, store={"sqlite": place + "/infra.db"})
    # A file system of one megabyte that only this process sees.
    launch = ["unshare", "-m", "sh", "-ec",
              f'mount -t tmpfs -o size=1m small {place}; exec "$@"', "sh"]
    backend.infra.inside = Wrapped(net.host, launch)
    backend.infra.start()
    inside = f"/proc/{backend.infra.process.pid}/root{place}"
    address = backend.serve("web", inline(net))["status"]["addresses"][0]
    with net.asking(address, 80) as load:
        fill(inside + "/filler")

        answer = put_until_refused(backend, net)

        said = problem(answer, 503, "unavailable")
        assert said["retryable"], said
        assert condition(backend.get("web"), "Ready")["status"] == "True"
        ready = backend.infra.client.request("GET", "/readyz")
        assert "[!] store" in ready.text, ready.text

        os.unlink(inside + "/filler")
        backend.serve("after", inline(net))
        assert "[+] store" in backend.infra.client.request("GET", "/readyz").text
        counts = load.stop()
    assert counts["failed"] == 0, counts


def put_until_refused(backend, net):
    """What is written already leaves a little room, so the first write may still find some."""
    for i in range(100):
        answer = backend.client.request(
            "PUT", backend.path("loadbalancers", "web"),
            body={"metadata": {}, "spec": inline(net, weights=[1, 1, 1 + i])})
        if answer.status != 200:
            return answer
    raise AssertionError("a full disk took a hundred writes")


def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            while file.write(b"\0" * 4096):
                pass
        except OSError:
            pass
