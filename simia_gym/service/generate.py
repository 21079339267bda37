"""Any number of tasks of a service; a task is a function of its split and index."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simia_gym.common.json_encoding import encode
from simia_gym.domain.goal import goal_of
from simia_gym.domain.tasks import task_to_json
from simia_gym.errors import InputError
from simia_gym.service import criteria
from simia_gym.service.case import Case, Reader, decoded
from simia_gym.service.cast import Cast, Drawn, Member
from simia_gym.service.decide import Answer, Grant, Refusal, decide
from simia_gym.service.declaration import BreachDeclaration, Variant
from simia_gym.service.script import request, script
from simia_gym.service.service import Service
from simia_gym.state import State
from simia_gym.types import JsonObject, Split, Task, ToolCall

SPAN = 1_000_000_000
"""Number of generated tasks of each split; the ranges of their seeds do not overlap."""
_SPLITS: tuple[Split, ...] = ("train", "test", "dev")
_STRANGER: tuple[str, str] = ("", "")
"""What stands for a wish and its breach where nobody can be found."""


class Generator:
    """The ``generator`` of a service's domain.

    Args:
        service: The service.
        name: The domain's name, with which the ids of tasks begin.

    Attributes:
        kinds: Every kind of task, with the wishes and breaches (``""`` for none) of which one is drawn.
    """

    def __init__(self, service: Service, name: str) -> None:
        self.service, self.name = service, name
        self._base = State.from_tables(service.tables)
        wishes = service.declared.wishes
        self._granted = tuple((wish, "") for wish in wishes if wishes[wish].granted)
        self._forbidden = (*((wish, breach) for wish in wishes for breach in wishes[wish].breaches), _STRANGER)
        self.kinds: dict[str, list[tuple[str, str]]] = {}
        for pair in (*self._granted, *self._forbidden):
            self.kinds.setdefault(self._kind(*pair), []).append(pair)

    def __call__(self, split: Split, index: int) -> Task:
        """Make the generated task of this index.

        Raises:
            InputError: The index lies outside the range; or a breach is allowed, or an edge is not.
        """
        if not 0 <= index < SPAN:
            raise InputError(f"there is no generated task {index}", where="generated", fix=f"Use 0 to {SPAN - 1}.")
        return self.make(f"{self.name}-{split}-g{index:06d}", split, index)

    def fixed(self, split: Split, kinds: int | Sequence[str]) -> list[Task]:
        """The fixed tasks of a split, from seeds of their own: so many, or one of each of these kinds."""
        each: Sequence[str | None] = [None] * kinds if isinstance(kinds, int) else kinds
        return [self.make(f"{self.name}-{split}-{at:03d}", split, -at, kind) for at, kind in enumerate(each, 1)]

    def make(self, task_id: str, split: Split, index: int, kind: str | None = None) -> Task:
        """Make one task.

        Args:
            task_id: Its id.
            split: Its split.
            index: Its place in the split, which is its seed.
            kind: One of `kinds`; drawn by weights if not given.
        """
        service, declared = self.service, self.service.declared
        place = _SPLITS.index(split) + 1
        seed = place * SPAN * 2 + index
        cast = Cast(seed, place * 1_000_000)
        rng = cast.rng
        if kind is None:
            pairs: Sequence[tuple[str, str]] = self._forbidden if rng.random() < declared.forbidden else self._granted
        else:
            pairs = self.kinds[kind]
        first, breach = rng.choice(pairs)
        label = self._kind(first, breach)
        poses = (first, breach) == _STRANGER
        if poses:
            first = rng.choice(self._granted)[0]
        member = self._member(cast, add=True)
        plans = [(first, self._draw(cast, first, member))]
        variant = self._variant(rng, first, breach)
        if variant is not None:
            self._apply(cast, variant, plans[0][1], member)
        if rng.random() < declared.further and not poses:
            second = rng.choice([name for name, _ in self._granted if name != first])
            plans.append((second, self._draw(cast, second, member)))
        details = (self._member(cast, add=False) if poses else member).details
        setup = copy.deepcopy(cast.setup())
        initial = state = self._base.apply(setup)
        talk = random.Random(f"{seed} talk")
        made = [
            request(service, name, drawn.slots, Case(member.key, self._reader(state), drawn.slots), talk)
            for name, drawn in plans
        ]
        requests = [one for one, _ in made]
        user = script(service, details, requests, talk)
        if poses:
            items = [criteria.customer(service, None), *criteria.stranger(service)]
            return Task(task_id, split, label, setup=setup, user=user, goal=(), criteria=tuple(items))
        gold: list[JsonObject] = []
        items = [criteria.customer(service, member.key)]
        for number, (name, drawn) in enumerate(plans):
            wish = declared.wishes[name]
            verdict = decide(service, wish, Case(member.key, self._reader(state), drawn.slots))
            if len(plans) == 1:
                _check(verdict, variant, f"{service.path}: wishes.{name}: {breach or 'granted'}: task {task_id}")
            suffix = "" if len(plans) == 1 else f"_{number + 1}"
            if isinstance(verdict, Grant):
                gold.append({"name": verdict.call.name, "arguments": verdict.call.arguments})
                state = self._after(state, verdict.call, task_id)
            elif isinstance(verdict, Refusal):
                if verdict.handover is not None:
                    gold.append({"name": verdict.handover.name, "arguments": verdict.handover.arguments})
                case = Case(member.key, self._reader(state), drawn.slots)
                tried = criteria.call_of(decide(service, wish, case, strict=False))
                items.extend(
                    criteria.refused(service, wish, verdict, tried, made[number][1], suffix, alone=len(plans) == 1)
                )
            else:
                items.append(criteria.told(service, verdict, suffix))
                requests[number]["told"] = [list(verdict.texts)]
            for owner in (wish, *((variant,) if number == 0 and isinstance(variant, BreachDeclaration) else ())):
                if owner.criteria is not None:
                    case = Case(member.key, self._reader(initial), drawn.slots)
                    criteria.merge(items, service.function(owner.criteria)(case, drawn), suffix)
            if isinstance(verdict, Refusal) and verdict.handover is not None:
                break  # whoever takes over sees to the other wishes
        return Task(
            task_id, split, label, setup=setup, user=user, gold=tuple(gold), goal=goal_of(initial, state),
            criteria=tuple(items),
        )  # fmt: skip

    def _kind(self, wish: str, breach: str) -> str:
        """The name of the kind of a wish or one of its breaches."""
        if (wish, breach) == _STRANGER:
            return self.service.declared.stranger_kind
        declared = self.service.declared.wishes[wish]
        return (declared.breaches[breach].kind or f"refuse_{wish}_{breach}") if breach else declared.kind or wish

    def _member(self, cast: Cast, *, add: bool) -> Member:
        member: Member = self.service.function(self.service.declared.customer)(cast)
        if add:
            cast.add(member.table, member.key, member.row)
        return member

    def _draw(self, cast: Cast, name: str, member: Member) -> Drawn:
        drawn: Drawn = self.service.function(self.service.declared.wishes[name].draw)(cast, member)
        return drawn

    def _variant(self, rng: random.Random, name: str, breach: str) -> Variant | None:
        wish = self.service.declared.wishes[name]
        if breach:
            return wish.breaches[breach]
        return rng.choice((None, *wish.edges.values()))

    def _apply(self, cast: Cast, variant: Variant, drawn: Drawn, member: Member) -> None:
        rows: Mapping[str, JsonObject] = {**drawn.rows, "who": member.row}
        for name, fields in variant.set.items():
            rows[name].update(fields)
        drawn.slots.update(variant.slots)
        if variant.do is not None:
            self.service.function(variant.do)(cast, drawn, member)

    def _reader(self, state: State) -> Reader:
        def read(call: ToolCall) -> Any:
            answer = self.service.world.call(state, call)
            return None if answer.outcome != "ok" else decoded(answer.observation)

        return read

    def _after(self, state: State, call: ToolCall, task_id: str) -> State:
        made = self.service.world.call(state, call)
        if made.outcome != "ok" or made.state is None:
            fix = "Let a rule object, or change the drawing."
            raise InputError(f"the granted call {call.name} fails: {made.observation}", where=task_id, fix=fix)
        after: State = made.state
        return after


def _check(verdict: Grant | Refusal | Answer, variant: Variant | None, where: str) -> None:
    """A breach makes its rule object; nothing objects to anything else."""
    wanted = variant.rule if isinstance(variant, BreachDeclaration) else None
    got = verdict.rule if isinstance(verdict, Refusal) else None
    if got != wanted:
        fix = "Correct the rule, the breach or edge, or the drawing."
        raise InputError(f"{wanted or 'no rule'} should object, but {got or 'none'} did", where=where, fix=fix)


def write_fixed(generator: Generator, folder: Path, train: int | Sequence[str], test: int | Sequence[str]) -> None:
    """Write the fixed tasks of a domain, ``tasks/train.jsonl`` and ``tasks/test.jsonl``; see `Generator.fixed`."""
    fixed: dict[Split, int | Sequence[str]] = {"train": train, "test": test}
    for split, kinds in fixed.items():
        lines = (encode(task_to_json(task)) + b"\n" for task in generator.fixed(split, kinds))
        (folder / "tasks").mkdir(exist_ok=True)
        (folder / "tasks" / f"{split}.jsonl").write_bytes(b"".join(lines))
