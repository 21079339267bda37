"""The expert of a service serves customers that it was not written with."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pytest

from simia_gym.common.files import read_yaml
from simia_gym.common.validation import validated
from simia_gym.domain.config import read_config
from simia_gym.service import Case, Generator, Service, ServiceExpert, expert, load_service, script
from simia_gym.service.declaration import ServiceDeclaration
from simia_gym.types import Split, Task
from simia_gym.users import scripted

from ..sweeps import sizes
from .table import OTHER_WORDS, WORLDS, World
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


@pytest.mark.parametrize("number", sizes(40, 300))
@pytest.mark.slow
def test_the_expert_serves_customers_with_other_words(
    serving: World, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, lines in read_yaml(OTHER_WORDS / "every_service.yaml").items():
        monkeypatch.setattr(scripted if name == "_YES" else script, name, tuple(lines))
    found = verdicts(serving, "expert", list(tasks(serving, number))[-number:])
    failed = [task.id for task, verdict in found if not verdict.success]
    assert len(failed) <= 0.05 * len(found), failed


def reworded(world: World, wording: int) -> Service:
    """A service whose expert asks in other words, those of the file of its agents."""
    own = load_service(world.folder)
    slots, wishes = dict(own.declared.slots), dict(own.declared.wishes)
    for name, wordings in world.agents["expert"].items():
        wish, _, slot = name.rpartition(" ")
        words = (wordings[wording],)
        if wish:
            questions = {**wishes[wish].questions, slot: words}
            wishes[wish] = wishes[wish].model_copy(update={"questions": questions})
        elif slot in slots:
            slots[slot] = slots[slot].model_copy(update={"question": words})
    other = copy.copy(own)
    other.declared = own.declared.model_copy(update={"slots": slots, "wishes": wishes})
    return other


@pytest.mark.parametrize("wording", [0, 1, 2])
@pytest.mark.parametrize("shop", [world for world in WORLDS if world.name == "simia/retail-v0"], ids=lambda w: w.name)
def test_customers_understand_an_expert_with_other_words(
    shop: World, wording: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wordings = shop.agents["expert"]
    monkeypatch.setattr(expert, "_LINES", {line: (wordings[line][wording],) for line in expert._LINES})
    other = type("Other", (ServiceExpert,), {"service": reworded(shop, wording)})
    assert [task.id for task, verdict in verdicts(shop, other, shop.tasks(80)) if not verdict.success] == []
