"""Writes the domain's generated files: ``python -m simia_gym.envs.webshop.build``."""

from __future__ import annotations

import json
from pathlib import Path

from simia_gym.domain.domain import FIXED_SPLITS
from simia_gym.domain.tasks import task_to_json
from simia_gym.envs.webshop.catalogue.requests import fixed_tasks
from simia_gym.envs.webshop.world import WebShopWorld

FOLDER = Path(__file__).parent


def files() -> dict[str, str]:
    """The content of each generated file, by its path in the domain's folder."""
    made = {"tools.json": json.dumps([spec.entry for spec in WebShopWorld.tools.values()], indent=2) + "\n"}
    for split in FIXED_SPLITS:
        lines = [json.dumps(task_to_json(task), ensure_ascii=False) for task in fixed_tasks(split)]
        made[f"tasks/{split}.jsonl"] = "\n".join(lines) + "\n"
    return made


def main() -> None:
    """Write the generated files into the domain's folder."""
    for name, text in files().items():
        path = FOLDER / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
