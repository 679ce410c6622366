"""The cloud lies about everything, for as long as anybody would look away.

A hundred Nodes in each of four states, each in a cluster of its own, all at the same time. First the
cloud says of every machine that is asked for that it is gone; then its complete list is empty as
well; then it answers nothing that can be understood; then the truth again.

No Node, no target of a load balancer and no route may go. It is told within 75 seconds, by an event
and a metric, and it heals by itself.

Five minutes with the shortest settings there are; `tests/e2e/lies/run --hour` takes an hour with the
defaults, and keeps what it sees in build/lies.
"""

import concurrent.futures
import os
import shutil
import threading
import time

import pytest

from harness import kube, netns, programs
from harness.cell import ROUTE_FLAGS, Cell
from harness.wait import until
from lie_settings import FLAGS, IS_HOUR, LIES

NODES = 100
REPORT_SECONDS = 75

LIED_SECONDS = sum(seconds for _, seconds in LIES)


def all_not_ready(cell):
    cell.say_ready(False, *cell.names)


def all_dead(cell):
    cell.die(*cell.names)


def half_dead(cell):
    cell.die(*cell.names[::2])


def three_die(cell):
    """One after the other, each long enough after the last for one to be deleted in between."""
    for name in cell.names[:3]:
        cell.die(name)
        if cell.over.wait(LIED_SECONDS / 10):
            return


STATES = {"all NotReady, Leases renewed": all_not_ready, "all NotReady, Leases stopped": all_dead,
          "half Ready, the others dead": half_dead, "all Ready but three that die": three_die}


class Story:
    """What happens in one state; `notes` is what people read of it."""

    def __init__(self, directory, state):
        self.state = state
        self.notes = []
        self.cell = Cell(directory, NODES)
        self.cell.over = threading.Event()  # Once there is no more to be seen.
        self.manager = None
        self.reported = False

    def note(self, text):
        self.notes.append(f"{time.strftime('%H:%M:%S')} {text}")

    def begin(self):
        cell = self.cell
        self.manager = cell.start_manager(*FLAGS, *ROUTE_FLAGS)
        cell.join(*cell.names)
        cell.serve()
        until(lambda: cell.targets() == set(cell.names), 60, "all Nodes are targets")
        until(lambda: cell.routes() == set(cell.names), 60, "all Nodes have a route")
        self.note(f"{len(cell.there())} Nodes, {len(cell.balancers())} load balancer, "
                  f"{len(cell.routes())} routes")

    def tell(self):
        """From the beginning of the lies to the time after them."""
        cell = self.cell
        with cell.k8s.watch(kube.NODES) as changes:
            happening = threading.Thread(target=STATES[self.state], args=[cell], daemon=True)
            happening.start()
            for how, seconds in LIES:
                self.lie(how, seconds, changes)
            cell.liar.lie(None)
            self.note("the truth again")
            self.heal()
            cell.over.set()
            happening.join(30)
            self.check(changes)
            assert self.metric("isthmus_nodes_deleted_total") == 0

    def lie(self, how, seconds, changes):
        cell = self.cell
        cell.liar.lie(how)
        begin = next_note = time.monotonic()
        while time.monotonic() < begin + seconds:
            self.check(changes)
            self.look_for_report()
            if time.monotonic() >= next_note:
                next_note += 60
                self.note(f"{how}: {self.figures()}")
            cell.over.wait(2)

    def look_for_report(self):
        """Counted from the first lie that was told: who asks for lists alone does not hear of single
        machines."""
        lied = self.cell.liar.first_lie
        if self.reported or lied is None:
            return
        late = time.monotonic() - lied
        counted = self.metric("isthmus_cloud_contradictions_total")
        events = self.cell.told("NodeDeletionWithheld", "CloudContradictsCluster",
                                "CloudContradictsItself")
        if counted and events:
            self.reported = True
            self.note(f"reported {late:.0f} s after the first lie: {events[0]['reason']}: "
                      f"{events[0]['message']}")
        assert self.reported or late <= REPORT_SECONDS, (
            f"not reported: {counted} contradictions, {len(events)} events")

    def check(self, changes):
        """Nothing has gone, not even for a moment."""
        cell = self.cell
        gone = [event["object"]["metadata"]["name"] for event in list(changes.seen)
                if event["type"] == "DELETED"]
        assert not gone, f"Nodes deleted: {gone}"
        assert not changes.over, "the watch of Nodes has ended"
        missing = set(cell.names) - cell.targets()
        assert not missing, f"targets gone: {sorted(missing)}"
        assert cell.balancers(), "the load balancer has gone"
        missing = set(cell.names) - cell.routes()
        assert not missing, f"routes gone: {sorted(missing)}"

    def heal(self):
        """Nothing is withheld any more, and work goes on."""
        cell = self.cell
        until(lambda: not self.withheld(), 180, "nothing is withheld any more")
        cell.names.append(f"node{NODES + 1}")
        cell.infra.set_machines(cell.machines())
        cell.join(cell.names[-1])
        until(lambda: cell.targets() == set(cell.names), 60, "the new Node is a target")
        until(lambda: cell.routes() == set(cell.names), 60, "the new Node has a route")
        self.note(f"healed: {self.figures()}")

    def withheld(self):
        return self.metric("isthmus_node_deletions_withheld")

    def figures(self):
        return (f"{len(self.cell.there())} Nodes, {self.withheld():.0f} reasons against deletions, "
                f"{self.metric('isthmus_cloud_contradictions_total'):.0f} contradictions, "
                f"{self.metric('isthmus_nodes_deleted_total'):.0f} deleted, "
                f"lies {self.cell.liar.told}")

    def metric(self, name):
        """Of a manager that runs: one that has lost its lease, because the machine stood still for
        longer than that, is started again, as a kubelet would, and knows nothing of before."""
        process = self.manager.process
        if not process.running:
            assert process.exit_code == 1, process.output()
            self.note("the manager has lost its lease, and is started again")
            self.manager.start()
        return self.manager.metric(name) or 0


@pytest.mark.skipif(netns.why_not(os.geteuid() != 0), reason="no namespaces here")
def test_total_lies_delete_nothing(directory, stage):
    with concurrent.futures.ThreadPoolExecutor(len(STATES)) as pool:
        stories = []
        for number, state in enumerate(STATES, 1):
            story = Story(os.path.join(directory, str(number)), state)
            stage.add(story.cell)
            story.begin()
            stories.append(story)
        told = [pool.submit(story.tell) for story in stories]
        concurrent.futures.wait(told)
    report = "\n".join(f"== {story.state}\n" + "\n".join(story.notes) for story in stories)
    print(report)
    keep(directory, report)
    for story, end in zip(stories, told):
        assert end.exception() is None, f"{story.state}: {end.exception()}\n{report}"
        assert story.reported, f"{story.state}: nobody has heard a lie\n{report}"


def keep(directory, report):
    """Of the hour: the report and the managers' logs."""
    if not IS_HOUR:
        return
    place = os.path.join(programs.ROOT, "build", "lies")
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, "hour.txt"), "w", encoding="utf-8") as file:
        file.write(report + "\n")
    for number in range(1, len(STATES) + 1):
        shutil.copy(os.path.join(directory, str(number), "manager.log"),
                    os.path.join(place, f"manager-{number}.log"))
