"""What every service has beside what every domain has: fresh rows, kinds, fixed tasks, policies that cheat or think."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from simia_gym.actions.calls import read_action
from simia_gym.service import Generator, write_fixed
from simia_gym.service.expert import Thinker
from simia_gym.types import Message, PolicyAction, Task

from .table import World
from .test_policies import verdicts


def generator(serving: World) -> Generator:
    made = serving.domain.generator
    assert isinstance(made, Generator)
    return made


def forbidden(task: Task) -> bool:
    """Whether the agent must refuse something, or hand the customer over."""
    return any(item["id"].startswith(("refused", "handed_over")) for item in task.criteria)


def test_tasks_are_about_rows_that_no_other_task_has(serving: World) -> None:
    base, tasks, seen = serving.domain.base, serving.tasks(150), set[str]()
    owners = generator(serving).service.declared.owners.values()
    customers = {f"/{owner.table}/" for owner in owners if owner.field is None}
    for task in tasks:
        paths = {op["path"] for op in task.setup}
        assert not any(base.has(*path.split("/")[1:]) for path in paths)
        seen |= {path for path in paths if path.startswith(tuple(customers))}
    assert len(seen) > 0.97 * len(tasks)


@pytest.mark.slow
def test_every_kind_is_drawn(serving: World) -> None:
    made = generator(serving)
    drawn = {made("train", index).kind for index in range(1200)}
    assert drawn == made.kinds.keys() - made.service.declared.kinds.keys()


def test_fixed_tasks_are_of_their_kinds_and_rebuild_to_the_same_bytes(serving: World, tmp_path: Path) -> None:
    made, fixed = generator(serving), serving.tasks()
    train, test = (
        made.service.declared.fixed.get(split) or [task.kind for task in fixed if task.split == split]
        for split in ("train", "test")
    )
    assert [task.kind for task in fixed] == [*train, *test]
    assert len({task.id for task in fixed}) == len(fixed) > 20
    if made.service.declared.fixed:
        write_fixed(made, tmp_path, train, test)
        for split in ("train", "test"):
            shipped = serving.folder / "tasks" / f"{split}.jsonl"
            assert shipped.read_bytes() == (tmp_path / "tasks" / f"{split}.jsonl").read_bytes()


@pytest.mark.slow
def test_who_grants_everything_succeeds_only_where_nothing_is_forbidden(serving: World) -> None:
    found = verdicts(serving, "pushover", serving.mixed(60))
    assert [task.id for task, verdict in found if verdict.success and forbidden(task)] == []
    allowed = [verdict.success for task, verdict in found if not forbidden(task)]
    assert sum(allowed) > 0.9 * len(allowed)


def test_the_thinker_writes_a_note_before_each_action_of_the_expert(serving: World) -> None:
    grammar, tasks = serving.domain.grammar, serving.mixed(15)
    said, noted = list[str](), list[str]()
    verdicts(serving, "expert", tasks, lambda action, _: said.append(read_action(grammar, action)[0]))

    def watch(action: PolicyAction, messages: Sequence[Message]) -> None:
        _, end, rest = str(action).partition("</think>\n")
        assert end
        assert "think>" not in str(messages)
        noted.append(rest)

    verdicts(serving, type("Own", (Thinker,), {"service": generator(serving).service}), tasks, watch)
    assert noted == said
