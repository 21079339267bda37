"""The expert of a service serves customers that it was not written with."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from simia_gym.common.files import read_yaml
from simia_gym.common.validation import validated
from simia_gym.domain.config import read_config
from simia_gym.service import Case, Generator, Service, script
from simia_gym.service.declaration import ServiceDeclaration
from simia_gym.types import Split, Task
from simia_gym.users import scripted

from .table import OTHER_WORDS, World
from .test_policies import verdicts


class OtherCustomers(Service):
    """A service whose customers say other words, those of its file in `OTHER_WORDS`.

    Such a file has the keys of ``service.yaml``, with other lines. Its own key ``values`` has patterns and what is said
    in the place of a value's words that match.
    """

    def __init__(self, world: World, words: Mapping[str, Any]) -> None:
        config = read_config(world.folder / "domain.yaml")
        assert config.service is not None
        path = world.folder / config.service
        given = dict(words)
        self._values: Mapping[str, Sequence[str]] = given.pop("values", {})
        declared = validated(ServiceDeclaration, _merged(read_yaml(path), given), where=world.name, fix="")
        super().__init__(declared, path, config)

    def spoken(self, slot: str, value: Any, case: Case, rng: random.Random | None = None) -> str:
        text = super().spoken(slot, value, case, rng)
        if rng is None:
            return text
        for pattern, others in self._values.items():
            text = re.sub(pattern, partial(_other, others=others, rng=rng), text)
        return text


def _other(match: re.Match[str], others: Sequence[str], rng: random.Random) -> str:
    return match.expand(rng.choice(others))


def _merged(declared: Any, other: Any) -> Any:
    if not isinstance(declared, Mapping) or not isinstance(other, Mapping):
        return other
    assert other.keys() <= declared.keys() | {"vague", "greetings", "close"}, f"no service.yaml has {sorted(other)}"
    return {**declared, **{key: _merged(declared.get(key), value) for key, value in other.items()}}


def tasks(world: World, generated: int) -> Iterator[Task]:
    """Tasks of the kinds of the fixed ones, and further ones, of customers who say other words."""
    service = OtherCustomers(world, read_yaml(OTHER_WORDS / f"{world.folder.name}.yaml"))
    generator = Generator(service, service.ids)
    splits: tuple[Split, ...] = ("train", "test")
    for split in splits:
        kinds = [task.kind for task in world.domain.tasks_of(split) if task.kind in generator.kinds]
        yield from generator.fixed(split, kinds)
        yield from (generator(split, index) for index in range(generated // 2))


def test_the_expert_serves_customers_with_other_words(serving: World, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, lines in read_yaml(OTHER_WORDS / "every_service.yaml").items():
        monkeypatch.setattr(scripted if name == "_YES" else script, name, tuple(lines))
    found = verdicts(serving, "expert", list(tasks(serving, 300)))
    failed = [task.id for task, verdict in found if not verdict.success]
    assert len(failed) <= 0.05 * len(found), failed
