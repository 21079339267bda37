"""Any number of tasks of a service; a task is a function of its split and index."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

from simia_gym.common.json_encoding import encode, texts_in
from simia_gym.domain.goal import goal_of
from simia_gym.domain.tasks import task_to_json
from simia_gym.errors import InputError
from simia_gym.service import criteria
from simia_gym.service.case import Case
from simia_gym.service.cast import Cast, Drawn, Member
from simia_gym.service.decide import Decision, Grant, decide, objector
from simia_gym.service.declaration import ANY_KIND, STRANGER, KindDeclaration, Pair, WishTurn
from simia_gym.service.proof import SAMPLES, unnoticed, unread
from simia_gym.service.script import Scene, Wanted, requests, script
from simia_gym.service.service import Service
from simia_gym.state import State
from simia_gym.types import JsonObject, Split, Task

SPAN = 1_000_000_000
"""Number of generated tasks of each split; the ranges of their seeds do not overlap."""
_END = SPAN + SPAN // 2
"""Where the tasks end that are made by kind, behind those whose kind is drawn."""
_SPLITS: tuple[Split, ...] = ("train", "test", "dev")
_TRIED = 20
"""Number of tasks of each kind that are drawn to find mistakes."""
_ATTEMPTS = 100
"""How often a task of a kind is drawn anew if its customer does not do what the kind says."""


@dataclass(frozen=True)
class _Plan:
    """What is settled before a task is drawn.

    Attributes:
        seed: The seed.
        base: Ids of the rows, as in `Cast`.
        attempt: How often the task has been drawn before.
        first: The first wish.
        variant: The breach or edge of it that is drawn for certain; ``""`` for none.
        poses: Whether somebody whom the agent cannot find poses as a customer.
        kind: What the customer does.
    """

    seed: int
    base: int
    attempt: int
    first: str
    variant: str
    poses: bool
    kind: KindDeclaration


class Generator:
    """The ``generator`` of a service's domain.

    Args:
        service: The service.
        name: The domain's name, with which the ids of tasks begin.

    Attributes:
        base: The initial state that all tasks share.
        kinds: Every kind of task, with the wishes and variants (``""`` for none) of which one is drawn.
    """

    def __init__(self, service: Service, name: str) -> None:
        self.service, self.name = service, name
        self.base = State.from_tables(service.tables)
        self._texts = frozenset(texts_in(service.tables, keys=True))
        declared = service.declared
        self._allowed, self._refused = declared.allowed, declared.refused
        self.kinds: dict[str, list[Pair]] = {}
        for pair in (*self._allowed, *self._refused):
            self.kinds.setdefault(declared.kind_of(*pair), []).append(pair)
        for kind, one in declared.kinds.items():
            of = one.of or [declared.kind_of(*pair) for pair in self._allowed]
            self.kinds[kind] = [pair for name in of for pair in self.kinds[name]]

    def __call__(self, split: Split, index: int) -> Task:
        """Make the generated task of this index.

        Raises:
            InputError: The index lies outside the range; or a breach is allowed, or an edge is not.
        """
        if not 0 <= index < _END:
            raise InputError(f"there is no generated task {index}", where="generated", fix=f"Use 0 to {SPAN - 1}.")
        kind = None if index < SPAN else [*self.kinds][(index - SPAN) % len(self.kinds)]
        return self.make(self.id_of(split, index), split, index, kind)

    def id_of(self, split: Split, index: int) -> str:
        """The id of the generated task of this index."""
        return f"{self.name}-{split}-g{index:06d}"

    def index_of(self, kind: str, number: int) -> int:
        """The index of a task of a kind, made by its kind and not drawn: of the first, second, ... from 0.

        Args:
            kind: One of `kinds`.
            number: Which of them.
        """
        return SPAN + number * len(self.kinds) + [*self.kinds].index(kind)

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
            kind: One of `kinds`; if not given, a wish or breach is drawn by weights.
        """
        for attempt in range(_ATTEMPTS):  # a change of mind may make a task one of another kind
            task = self._make(task_id, split, index, kind, attempt)
            if kind in (None, task.kind):
                return task
        raise InputError(f"no task of kind {kind!r} was made", where=task_id, fix="Let customers change less often.")

    def _make(self, task_id: str, split: Split, index: int, kind: str | None, attempt: int) -> Task:
        service, declared = self.service, self.service.declared
        place = _SPLITS.index(split) + 1
        seed = place * SPAN * 2 + index
        chance = random.Random(f"{seed} plan {attempt or ''}")
        declared_kind = declared.kinds.get(kind or "", ANY_KIND)
        if kind is None:
            forbidden = chance.random() < declared.forbidden
            pairs = self._refused if forbidden else [(wish, edge) for wish, edge in self._allowed if not edge]
        else:
            pairs = self.kinds[kind]
        first, variant = pair = chance.choice(pairs)
        poses = pair == STRANGER
        if poses:
            first = chance.choice(self._allowed)[0]
        plan = _Plan(seed, place * 1_000_000, attempt, first, variant, poses, declared_kind)
        scene = self._scene(plan, chance, task_id)
        talk = random.Random(f"{seed} talk")
        reader = service.reader(scene.state)
        made = [
            requests(service, wanted, Case(scene.member.key, reader, wanted.drawn.slots), talk)
            for wanted in scene.wanted
        ]
        said = [request for several in made for request, _ in several]
        user = script(service, scene.details, said, talk, vague=declared_kind.withheld)
        if poses:
            items = tuple(criteria.stranger(service, said))
            return Task(task_id, split, declared.kind_of(*pair), setup=scene.setup, user=user, goal=(), criteria=items)
        judged = criteria.Judged(service, scene, alone=len(said) == 1, where=task_id)
        for wanted, several in zip(scene.wanted, made, strict=True):
            if not judged.wish(wanted, several):
                break  # whoever takes over sees to the other wishes
        label = declared.kind_of(first, scene.variant)
        if kind in declared.kinds:
            label = kind if kind and scene.fits(declared_kind) else ""
        return Task(
            task_id, split, label, setup=scene.setup, user=user, gold=tuple(judged.gold),
            goal=goal_of(scene.state, judged.state), criteria=tuple(judged.items),
        )  # fmt: skip

    def _scene(self, plan: _Plan, chance: random.Random, task_id: str) -> Scene:
        """Draw who wants what.

        Allowed and forbidden wishes have the same distribution of slots: either takes the slots that a breach and an
        edge set, and a forbidden one has the rows of an edge, too. If the rules then judge it otherwise than they
        should, it is drawn with less.
        """
        wish = self.service.declared.wishes[plan.first]
        named = plan.variant if plan.variant in wish.edges else ""
        edge = named or chance.choice(("", *(name for name, one in wish.edges.items() if one.tasks)))
        breach = plan.variant if plan.variant in wish.breaches else ""
        like = breach or (chance.choice(tuple(wish.breaches)) if wish.breaches else "")
        slots = {**wish.variant(edge).slots, **wish.variant(like).slots, **wish.variant(named).slots}
        main = breach or edge
        alone, own = [main], wish.variant(main).slots
        ways: list[tuple[Sequence[str], Mapping[str, Any]]] = []
        if edge and breach:
            ways.append(([edge, breach], slots))
        ways.append(([] if plan.poses else alone, slots))
        if slots != own and not plan.poses:
            ways += [] if breach or named else [([], slots)]
            ways.append((alone, own))
        rule, found = wish.breaches[breach].rule if breach else None, None
        for variants, changed in ways:
            single = self._cast(plan, variants, changed, ())
            found = self._objector(single)
            if found == rule or plan.poses:
                break
        else:
            what = f"{rule or 'no rule'} should object, but {found or 'none'} did"
            where = self._where(plan.first, main)
            raise InputError(what, where=where, fix="Correct the rule, the breach or edge, or the drawing.")
        count = int(chance.random() < self.service.declared.further) if plan.kind.further is None else plan.kind.further
        others = list(dict.fromkeys(name for name, _ in self._allowed if name != plan.first))
        then = plan.kind.then
        if count and wish.then and chance.random() < 0.5:
            then = then or chance.choice(wish.then)
        if plan.poses or not (count or then):
            return single
        if then:
            return self._cast(plan, variants, changed, [then], same=True)
        for _ in others:
            several = self._cast(plan, variants, changed, chance.sample(others, count))
            if self._objector(several) == rule and self._apart(several, task_id):
                return several
        return single

    def sample(self, wish: str, number: int, variant: str = "") -> Scene:
        """Draw a customer with one wish, for proofs."""
        slots = self.service.declared.wishes[wish].variant(variant).slots
        return self._cast(_Plan(number, 9_000_000, 0, wish, variant, False, ANY_KIND), [variant], slots, ())

    def problems(self) -> Iterator[InputError]:
        """Draw some tasks of every kind and every edge, and find lines that the expert does not understand."""
        found = [*self._objected()]
        for kind in self.kinds:
            try:
                for index in range(_TRIED):
                    self.make(f"{kind}-{index}", "train", index, kind)
            except InputError as error:
                found.append(error)
        yield from found or unread(self.service, self.sample)

    def _objected(self) -> Iterator[InputError]:
        """The edges without tasks to which a rule objects."""
        for name, wish in self.service.declared.wishes.items():
            for edge in (edge for edge, one in wish.edges.items() if not one.tasks):
                if rule := self._objector(self.sample(name, 0, edge)):
                    fix = "Correct the rule, the edge, or the drawing."
                    yield InputError(f"no rule should object, but {rule} did", where=self._where(name, edge), fix=fix)

    def notes(self) -> Iterator[str]:
        """Find the comparisons of rules of which no breach and no edge is the boundary; `simia check` shows them."""
        return unnoticed(self.service, self._notices)

    def _notices(self, rule: str) -> bool:
        """Whether a breach or edge of a wish with this rule is judged otherwise than it should."""
        for name, wish in self.service.declared.wishes.items():
            if rule not in wish.rules:
                continue
            for variant in (*([""] if wish.granted else []), *wish.edges, *wish.breaches):
                wanted = wish.breaches[variant].rule if variant in wish.breaches else None
                for number in range(SAMPLES):
                    scene = self.sample(name, number, variant)
                    try:
                        if self._objector(scene) != wanted:
                            return True
                    except Exception:  # a rule that breaks is noticed
                        return True
        return False

    def _cast(
        self,
        plan: _Plan,
        variants: Sequence[str],
        slots: Mapping[str, Any],
        further: Sequence[str],
        *,
        same: bool = False,
    ) -> Scene:
        """Draw the customer and the wishes; further wishes may be about the same rows as the first."""
        service = self.service
        cast = Cast(plan.seed, plan.base, self._texts, lambda setup: service.reader(self.base.apply(setup)))
        member = cast.join(self._member(cast))
        wanted = [Wanted(plan.first, self._draw(cast, plan.first, member))]
        wanted[0].drawn.slots.update(slots)
        for variant in variants:
            self._apply(cast, plan.first, variant, wanted[0].drawn, member)
        like = wanted[0] if same else None
        wanted.extend(Wanted(name, self._draw(cast, name, member, like)) for name in further)
        for number, one in enumerate(wanted):
            turns = random.Random(f"{plan.seed} turn {number} {plan.attempt}")
            one.withheld = plan.kind.withheld
            kind = plan.kind if number == 0 else ANY_KIND
            self._turn(turns, cast, member, one, kind, may_withdraw=number + 1 < len(wanted))
        details = (self._member(cast) if plan.poses else member).details
        setup = copy.deepcopy(cast.setup())
        return Scene(member, details, wanted, variants[-1] if variants else "", setup, self.base.apply(setup))

    def _where(self, wish: str, variant: str, *parts: str) -> str:
        """The place of a wish in the declaration, or of one of its variants or a part of that."""
        key = "breaches" if variant in self.service.declared.wishes[wish].breaches else "edges"
        return self.service.where("wishes", wish, *((key, variant, *parts) if variant else ()))

    def _turn(
        self,
        rng: random.Random,
        cast: Cast,
        member: Member,
        wanted: Wanted,
        kind: KindDeclaration,
        *,
        may_withdraw: bool,
    ) -> None:
        """Draw whether the customer changes the wish, alike for wishes that the rules allow and for others.

        After a change of mind the customer wants what was drawn. Before it, he wants something else to which no rule
        objects, or the rule alone that objects to what was drawn.
        """
        service, declared = self.service, self.service.declared
        wish = declared.wishes[wanted.name]
        withdraws, share = rng.random(), rng.random()
        turn: WishTurn | None = None
        if kind.turn is not None:
            turn = kind.turn
        elif may_withdraw and withdraws < declared.withdrawals:
            turn = "withdraw"
        elif share < declared.changes:
            turn = "change"
        elif share < declared.changes + declared.otherwise:
            turn = "otherwise"
        if turn is None or (wish.call is None and turn != "otherwise"):
            return
        if turn == "withdraw":
            wanted.turn = turn
            return
        slots = [slot for slot in wish.slots if declared.slots[slot].instead and slot not in wish.keeps]
        slots = [slot for slot in slots if kind.slot in (None, slot)]
        if not slots:
            return
        slot = rng.choice(slots)
        last = wanted.drawn.slots
        values: Iterable[Any]
        if declared.slots[slot].choice or declared.slots[slot].options:
            options = service.options(slot, cast.case(member, last))
            values = ([one] for one in options) if declared.slots[slot].many else options
        else:
            values = [self._draw(cast, wanted.name, member).slots[slot]]
        others = [one for one in values if one != last[slot]]
        if turn == "change":
            case = cast.case(member, last)

            def rule(slots: Mapping[str, Any]) -> str | None:
                return objector(decide(service, wish, Case(case.who, case.reader, dict(slots))))

            rules = {rule(last), None}
            firsts = [first for first in ({**last, slot: one} for one in others) if rule(first) in rules]
            if firsts:
                wanted.drawn.slots = rng.choice(firsts)
                wanted.turn, wanted.slot, wanted.other = turn, slot, last[slot]
        elif others:
            wanted.turn, wanted.slot, wanted.other = turn, slot, rng.choice(others)

    def _decide(self, scene: Scene, wanted: Wanted, state: State, *, strict: bool = True) -> Decision:
        """What the rules say of a wish as it was drawn, in a state; what grants it if they do not count."""
        wish, reader = self.service.declared.wishes[wanted.name], self.service.reader(state)
        return decide(self.service, wish, Case(scene.member.key, reader, dict(wanted.last)), strict=strict)

    def _objector(self, scene: Scene) -> str | None:
        """The rule that objects to the first wish, if one does."""
        return objector(self._decide(scene, scene.wanted[0], scene.state))

    def _apart(self, scene: Scene, task_id: str) -> bool:
        """Whether granting one of two wishes neither makes the other's call nor changes what the rules say of it."""
        for one, other in permutations(scene.wanted, 2):
            decision = self._decide(scene, one, scene.state)
            if isinstance(decision, Grant):
                granted = self._decide(scene, other, scene.state, strict=False)
                if isinstance(granted, Grant) and granted.call == decision.call:
                    return False
                after = self.service.after(scene.state, decision.call, task_id)
                before = objector(self._decide(scene, other, scene.state))
                if objector(self._decide(scene, other, after)) != before:
                    return False
        return True

    def _member(self, cast: Cast) -> Member:
        member: Member = self.service.function(self.service.declared.customer)(cast)
        return member

    def _draw(self, cast: Cast, name: str, member: Member, like: Wanted | None = None) -> Drawn:
        """Draw what a wish is about: the rows of another wish with its slots, if that is given, and new slots else."""
        wish, drawn = self.service.declared.wishes[name], Drawn({})
        if wish.draw and (like is None or not like.drawn.slots.keys() >= {*wish.slots}):
            drawn = self.service.function(wish.draw)(cast, member)
        if like is not None:
            others = {*self.service.declared.wishes[like.name].slots} - {*wish.slots}
            drawn.slots.update({slot: value for slot, value in like.drawn.slots.items() if slot not in others})
            drawn.rows.update(like.drawn.rows)
        if missing := [slot for slot in wish.slots if slot not in drawn.slots]:
            where = self.service.where("wishes", name, "draw" if wish.draw else "slots")
            raise InputError(f"no slot {missing[0]!r} is drawn", where=where, fix="Give `Drawn` a value of each slot.")
        return drawn

    def _apply(self, cast: Cast, wish: str, variant: str, drawn: Drawn, member: Member) -> None:
        """Change what was drawn as a breach or an edge says."""
        declared = self.service.declared.wishes[wish].variant(variant)
        rows: Mapping[str, JsonObject] = {**drawn.rows, "who": member.row}
        for name, fields in declared.set.items():
            if name not in rows:
                where = self._where(wish, variant, "set", name)
                raise InputError(f"no drawn row is called {name!r}", where=where, fix=f"There is: {', '.join(rows)}.")
            rows[name].update(fields)
        if declared.do is None:
            return
        before = dict(drawn.slots)
        self.service.function(declared.do)(cast, drawn, member)
        for slot, value in before.items():
            if self.service.declared.slots[slot].choice and drawn.slots[slot] != value:
                what = f"{declared.do} changes the slot {slot!r}, so that what customers say tells what is forbidden"
                fix = "Set it under `slots`, which every task of the wish takes as often."
                raise InputError(what, where=self._where(wish, variant, "do"), fix=fix)


def write_fixed(generator: Generator, folder: Path, train: int | Sequence[str], test: int | Sequence[str]) -> None:
    """Write the fixed tasks of a domain, ``tasks/train.jsonl`` and ``tasks/test.jsonl``; see `Generator.fixed`."""
    fixed: dict[Split, int | Sequence[str]] = {"train": train, "test": test}
    for split, kinds in fixed.items():
        lines = (encode(task_to_json(task)) + b"\n" for task in generator.fixed(split, kinds))
        (folder / "tasks").mkdir(exist_ok=True)
        (folder / "tasks" / f"{split}.jsonl").write_bytes(b"".join(lines))
