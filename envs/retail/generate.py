"""Any number of tasks of every kind, with fresh users, orders and products.

A task is a function of its split and index. Its goal is computed by executing the gold actions in the shop's world.
The fixed tasks come from the same builders with other seeds: ``python -m simia_gym.envs.retail.generate`` writes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from simia_gym.common.json_encoding import encode
from simia_gym.domain.goal import goal_of
from simia_gym.domain.tasks import task_to_json
from simia_gym.envs.retail import generate_words as words
from simia_gym.envs.retail.generate_cast import Cast, base_state
from simia_gym.envs.retail.generate_kinds import KINDS, Plan
from simia_gym.envs.retail.world import RetailWorld
from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Op, Split, Task, ToolCall

FIRST_SEED: dict[Split, int] = {"train": 1_000_000_000, "test": 2_000_000_000, "dev": 3_000_000_000}
"""First seed of the generated tasks of each split; the ranges do not overlap."""
SPAN = 1_000_000_000
FIXED_SEED: dict[Split, int] = {"train": 1_000, "test": 2_000}
"""First seed of the fixed tasks of each split."""
FIXED: dict[Split, tuple[str, ...]] = {
    "train": (*KINDS, "combined_two")[:40],
    "test": (
        "cancel", "modify_items", "modify_address", "modify_payment", "exchange", "return_several", "user_address",
        "lookup_total", "lookup_price", "combined_two", "combined_three", "withheld", "changed_variant",
        "changed_withdraw", "refuse_cancel_reason", "refuse_return_elsewhere", "refuse_other_user", "refuse_stranger",
        "refuse_then_return", "refuse_modify_twice",
    ),
}  # fmt: skip
"""Kinds of the fixed tasks."""
_KINDS = tuple(KINDS)
_DEV_KINDS = tuple(dict.fromkeys((*FIXED["test"], *KINDS)))
TASK_FOLDER = Path(__file__).with_name("tasks")


def generate(split: Split, index: int) -> Task:
    """Make the generated task of this index.

    Args:
        split: ``train``, ``dev`` or ``test``; their seeds never meet.
        index: From 0. Kinds follow each other in the order of `KINDS`; in ``dev``, those of the fixed test tasks first.

    Raises:
        InputError: The index lies outside the range of its split.
    """
    if not 0 <= index < SPAN:
        raise InputError(f"there is no generated task {index}", where="generated", fix=f"Use 0 to {SPAN - 1}.")
    names = _DEV_KINDS if split == "dev" else _KINDS
    kind = names[index % len(names)]
    return make_task(f"retail-{split}-g{index:06d}", split, kind, FIRST_SEED[split] + index)


def make_task(task_id: str, split: Split, kind: str, seed: int) -> Task:
    """Make one task of a kind from `KINDS`."""
    cast = Cast(seed)
    plan = KINDS[kind](cast)
    cast.distract(plan.user, cast.rng.choice((0, 1, 1, 2)))
    setup = cast.setup()
    gold = tuple(item for wish in plan.wishes for item in wish.gold)
    return Task(
        id=task_id,
        split=split,
        kind=kind,
        setup=setup,
        user=_script(cast, plan),
        gold=gold,
        goal=_goal(setup, gold, task_id),
        criteria=tuple(_criteria(plan)),
    )


def _script(cast: Cast, plan: Plan) -> JsonObject:
    rng = cast.rng
    knows_email = rng.random() < 0.6 if plan.email is None else plan.email
    first = plan.wishes[0].request["say"]
    if plan.vague:
        opening = list(words.VAGUE)
    else:
        several = {1: "", 2: " I have two things.", 3: " I have three things."}[len(plan.wishes)]
        if any("accept" in wish.request for wish in plan.wishes):
            several = ""
        opening = [f"{words.GREETINGS[i % len(words.GREETINGS)]}{several} {say}" for i, say in enumerate(first)]
    return {
        "type": "scripted",
        "persona": rng.choice(words.PERSONAS),
        "opening": opening,
        **({"vague": True} if plan.vague else {}),
        "facts": words.facts(plan.posing or plan.user, email=knows_email),
        "requests": [wish.request for wish in plan.wishes],
        "close": list(words.CLOSE),
    }


def _criteria(plan: Plan) -> Sequence[JsonObject]:
    items = [_own_data(plan), *plan.criteria]
    for number, wish in enumerate(plan.wishes, 1):
        suffix = "" if len(plan.wishes) == 1 else f"_{number}"
        items.extend({**item, "id": f"{item['id']}{suffix}"} for item in wish.criteria)
    return items


def _own_data(plan: Plan) -> JsonObject:
    """Who the customer is; nobody may be found for somebody who poses as a customer."""
    check: JsonObject = {
        "program": "simia_gym.envs.retail.checks:own_data",
        "customer": None if plan.posing is not None else plan.user["user_id"],
    }
    readable = [order for wish in plan.wishes for order in wish.about.get("readable", ())]
    if readable:
        check["readable"] = readable
    return {"id": "own_data", "check": check}


def _goal(setup: Sequence[Op], gold: Sequence[JsonObject], task_id: str) -> tuple[Op, ...]:
    """The goal: the changes that the gold actions make; each action must succeed."""
    world = _world()
    initial = state = base_state().apply(setup)
    for item in gold:
        transition = world.call(state, ToolCall(item["name"], item["arguments"]))
        if transition.outcome != "ok" or transition.state is None:
            raise InputError(f"gold call {item['name']} fails: {transition.observation}", where=f"task {task_id}")
        state = transition.state
    return goal_of(initial, state)


@cache
def _world() -> RetailWorld:
    return RetailWorld()


def fixed_tasks(split: Split) -> list[Task]:
    """Make the fixed tasks of a split: 40 to train on and 20 to test with, of every kind."""
    return [
        make_task(f"retail-{split}-{number:03d}", split, kind, FIXED_SEED[split] + number)
        for number, kind in enumerate(FIXED[split], 1)
    ]


def to_lines(tasks: Sequence[Task]) -> bytes:
    """Tasks as JSON Lines."""
    return b"".join(encode(task_to_json(task)) + b"\n" for task in tasks)


def main() -> None:
    """Write the fixed tasks."""
    TASK_FOLDER.mkdir(exist_ok=True)
    for split in FIXED:
        (TASK_FOLDER / f"{split}.jsonl").write_bytes(to_lines(fixed_tasks(split)))


if __name__ == "__main__":
    main()
