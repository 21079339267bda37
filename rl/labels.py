"""Names of the environments of one training, for its metrics, episodes and dataset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from simia_gym.assembly.settings import EnvConfig


def labels(configs: Sequence[EnvConfig]) -> list[str]:
    """Name each environment by its id; if several custom domains share an id, by the domain's folder."""
    ids = Counter(config.env for config in configs)
    found: list[str] = []
    for config in configs:
        name = config.env
        if ids[name] > 1 and config.domain is not None:
            name = Path(config.domain).resolve().name or name
        label, number = name, 1
        while label in found:
            number += 1
            label = f"{name}-{number}"
        found.append(label)
    return found
