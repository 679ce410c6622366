"""How long the stories of this folder take: minutes with the shortest settings of the manager, or an
hour with its defaults (ISTHMUS_LIES_HOUR; see run)."""

import os

IS_HOUR = bool(os.environ.get("ISTHMUS_LIES_HOUR"))

# Flags of the manager.
SHORTEST = ["--node-deletion-confirmations=2", "--node-deletion-confirmation-spacing=10s",
            "--node-deletion-min-absence=1m", "--node-deletion-heartbeat-silence=40s",
            "--node-deletion-not-ready=40s", "--node-deletion-min-age=2m"]
FLAGS = [] if IS_HOUR else SHORTEST
MIN_AGE_SECONDS = 600 if IS_HOUR else 120
# Of a Node whose machine the cloud has shown before, whatever the settings.
SEEN_AGE_SECONDS = 120

# What is lied (see harness.liar), and for how long. The second is the one in which every vote is
# against the Nodes: it is the longest, and for half of it all Nodes are older than the youngest that
# may be deleted.
LIES = ([("gone", 900), ("empty", 2100), ("broken", 600)] if IS_HOUR else
        [("gone", 90), ("empty", 150), ("broken", 60)])
