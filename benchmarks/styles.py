"""What the expert of each service keeps of its success when it speaks in other styles, and what idle agents earn.

    python -m benchmarks.styles [--tasks 300] [--out benchmarks/results/styles.json]

The styles are those of ``tests/domains/test_courtesies.py``: whole dialogues in which each message of the expert is
worded otherwise. ``plain`` is the expert itself. The agents that do no work are the built-in policies of that kind.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from simia_gym.policies import Policy
from simia_gym.service import ServiceExpert
from simia_gym.types import Task
from tests.domains.table import FIXTURES, WORLDS, World
from tests.domains.test_courtesies import STYLES, speaking
from tests.domains.test_policies import verdicts

IDLE = ("null", "claimer", "refuser", "pushover")


def measured(world: World, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
    """The successes of each style and of each idle agent, in one service."""
    expert = world.suite(simulator="world").load_policy("expert")
    assert isinstance(expert, type)
    assert issubclass(expert, ServiceExpert)
    agents: dict[str, str | type[Policy]] = {"plain": expert}
    agents |= {name: speaking(expert, style) for name, style in STYLES.items()}
    agents |= {name: name for name in IDLE}
    for name, agent in agents.items():
        found = verdicts(world, agent, tasks)
        won = sum(verdict.success for _, verdict in found)
        print(f"{world.name:18} {name:24} {won} of {len(found)}", flush=True)
        kind = "agent" if name in IDLE else "style"
        yield {"domain": world.name, kind: name, "episodes": len(found), "succeeded": won}


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/styles.json"))
    args = parser.parse_args()
    services = [world for world in WORLDS if world.config.service is not None and world.folder.parent != FIXTURES]
    found = [row for world in services for row in measured(world, world.tasks(args.tasks)[-args.tasks :])]
    args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
