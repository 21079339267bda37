"""What the cheats of `tests/cheats` earn in every registered service, and what their harmless twins lose.

    python -m benchmarks.cheats [--tasks 200] [--out benchmarks/results/cheats.json]

Each cheat plays the fixed tasks and generated ones. ``python -m tests.docs_tables`` prints the result into the docs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from simia_gym.evaluation.cheats import play_cheats
from simia_gym.policies import Policy
from tests.cheats import kit
from tests.domains.table import WORLDS, World


def measured(world: World, cheats: Sequence[type[Policy]], count: int, stands: str) -> Iterator[dict[str, Any]]:
    """The scores of cheats; ``stands`` says whether the reward holds against them, reports them or leaves them."""
    tasks = world.tasks(count)[:count]
    for cheat, score in zip(cheats, play_cheats(world.suite(simulator="world"), tasks, cheats), strict=True):
        counts = f"{score.succeeded} of {score.bent}, {score.reported} reported, {score.lost} lost"
        print(f"{world.name}  {counts}  {score.cheat}")
        yield {"domain": world.name, "about": getattr(cheat, "about", ""), "stands": stands, **asdict(score)}


def main() -> None:
    """Measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/cheats.json"))
    args = parser.parse_args()
    found: list[dict[str, Any]] = []
    for world in (world for world in WORLDS if not world.settings):
        service = world.config.service is not None
        found += measured(world, [*(kit.CHEATS if service else ()), *world.own.cheats], args.tasks, "held")
        found += measured(world, kit.REPORTED if service else (), args.tasks, "reported")
        found += measured(world, kit.LEFT if service else (), args.tasks, "left")
    args.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
