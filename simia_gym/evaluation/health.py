"""Health of a rollout: signs that a setting, a format or a server spoils episodes, where a score alone tells nothing.

The signs of one episode are counted in its events, so that records, evaluations and trainings share them. What is kept
of all episodes does not grow with their number: counts, one example of each sign, and the groups that are incomplete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from simia_gym.actions.thinking import strip_thinking
from simia_gym.common.formatting import counted, percent
from simia_gym.record.finished_episode import CONTEXT_LIMIT, TOKEN_LIMIT, TURN_LIMIT
from simia_gym.types import JsonObject

AGAIN = 3
"""So many equal turns in a row, with equal answers, are the same call again and again."""


class _Sign(NamedTuple):
    unit: Literal["turn", "episode", "group"]
    title: str
    advice: str


SIGNS = {
    "empty_turns": _Sign(
        "turn",
        "empty turns",
        "The model ends its turn before it says anything. Check its chat template and end token, and whether thinking "
        "takes all of its tokens.",
    ),
    "refused_replies": _Sign(
        "turn",
        "replies that the grammar refused",
        "Read one. Let the model have tools beside the messages or calls in the format of its own family, or train the "
        "format first.",
    ),
    "cut_turns": _Sign(
        "turn",
        "turns cut off by their limit of tokens",
        "Allow more tokens a turn, or less thinking: an action that was cut is often no action.",
    ),
    "invented_observations": _Sign(
        "turn",
        "turns that went on with an invented observation",
        "Give the model a stop word or the end token of its turns; it answers its own calls.",
    ),
    "no_tool_call": _Sign(
        "episode",
        "failed episodes without any tool call",
        "Read one. If the model means to call, its calls are not in a form that is read, or it was shown no tools.",
    ),
    "repeated_calls": _Sign(
        "episode",
        "episodes with the same turn and answer three times or more in a row",
        "Read what the answer says. Errors that explain (feedback explain), a higher temperature or a limit in the "
        "domain (limits of equal actions) end such loops.",
    ),
    "token_limit": _Sign(
        "episode",
        "episodes cut by tokens",
        "Allow more tokens an episode or a longer context, or show less: prompt compact, or a history.",
    ),
    "turn_limit": _Sign(
        "episode",
        "episodes cut by turns",
        "Read one. If it was on its way, allow more turns; if not, see what it repeats.",
    ),
    "equal_rewards": _Sign(
        "group",
        "groups with equal rewards",
        "They teach nothing. Choose easier or harder tasks, a graded reward or larger groups, or have them replaced.",
    ),
    "faults": _Sign(
        "episode",
        "faults",
        "They stand in no score. At turn 0 an address, a key or a name is wrong; if long episodes have more of them, "
        "scores are of short ones: raise the time limit, or the context of the model that failed.",
    ),
}
"""What is looked for, in the order of a report."""


def signs_of(events: Iterable[Mapping[str, Any]], *, ended: str | None, valid: bool, success: bool) -> dict[str, int]:
    """Count the signs in the events of one episode.

    Args:
        events: The events of its ledger.
        ended: Why it ended.
        valid: Whether it has a reward.
        success: Strict pass.

    Returns:
        The counts of the signs that were found: of turns, or 1 for a sign of whole episodes.
    """
    found: Counter[str] = Counter()
    turns = called = 0
    row = _Row()
    for event in events:
        kind = event["type"]
        if kind == "action":
            turns += 1
            row.turn()
            text = event["text"]
            found["empty_turns"] += not text or text.isspace() or not strip_thinking(text).strip()
            found["cut_turns"] += "finish_reason" in event
            found["invented_observations"] += "invented" in event
        elif kind == "transition":
            call = event["call"]
            called += call is not None
            said = (call["name"], call["arguments"]) if isinstance(call, Mapping) else event["say"]
            row.add(said, event["observation"])
        elif kind == "invalid":
            found["refused_replies"] += 1
            row.add(event["code"], event["text"])
    row.turn()
    found["no_tool_call"] = int(valid and not success and turns > 0 and not called)
    found["repeated_calls"] = int(row.most >= AGAIN)
    found["token_limit"] = int(ended in (TOKEN_LIMIT, CONTEXT_LIMIT))
    found["turn_limit"] = int(ended == TURN_LIMIT)
    return {name: count for name, count in found.items() if count}


class _Row:
    """The length of the longest row of equal turns with equal answers."""

    def __init__(self) -> None:
        self._before: list[Any] = []
        self._now: list[Any] = []
        self._length, self.most = 0, 0

    def add(self, said: Any, answer: str) -> None:
        self._now.append((said, answer))

    def turn(self) -> None:
        """Begin the next turn."""
        if self._now:
            self._length = self._length + 1 if self._now == self._before else 1
            self.most = max(self.most, self._length)
        self._before, self._now = self._now, []


@dataclass
class _Group:
    """The members of a group so far: their number, the valid rewards' number and first value, and whether they vary."""

    example: JsonObject
    members: int = 0
    valid: int = 0
    reward: float | None = None
    mixed: bool = False


@dataclass
class Health:
    """Counts signs over episodes.

    Attributes:
        turns: Number of actions.
        episodes: Number of episodes.
        groups: Number of complete groups with two valid members or more.
        found: Number of turns, episodes or groups with each sign.
        examples: An episode with each sign: the first by its id, in whatever order they end.
        lengths: Episodes and faults by the number of binary digits of their turns.
        open: Groups of which not all members were counted yet.
    """

    turns: int = 0
    episodes: int = 0
    groups: int = 0
    found: Counter[str] = field(default_factory=Counter)
    examples: dict[str, JsonObject] = field(default_factory=dict)
    lengths: dict[int, list[int]] = field(default_factory=dict)
    open: dict[str, _Group] = field(default_factory=dict, repr=False)

    def add(
        self,
        signs: Mapping[str, int],
        *,
        turns: int,
        reward: float | None,
        example: JsonObject,
        group: tuple[str, int] = ("", 1),
    ) -> None:
        """Count one episode.

        Args:
            signs: Its signs, from `signs_of`.
            turns: Its turns.
            reward: Its reward; ``None`` if a fault left it without one.
            example: What names it, such as task, seed and member.
            group: Name of its group, and the number of the group's members; 0 if that is not known.
        """
        self.turns += turns
        self.episodes += 1
        faults = self.lengths.setdefault(turns.bit_length(), [0, 0])
        faults[0] += 1
        if reward is None:
            faults[1] += 1
            signs = {**signs, "faults": 1}
        for name, count in signs.items():
            self._note(name, count, example)
        if group[1] != 1:
            self._join(*group, reward, example)

    def _note(self, name: str, count: int, example: JsonObject) -> None:
        self.found[name] += count
        before = self.examples.get(name)
        if before is None or [*example.values()] < [*before.values()]:
            self.examples[name] = example

    def _join(self, name: str, size: int, reward: float | None, example: JsonObject) -> None:
        group = self.open.setdefault(name, _Group(example))
        group.example = min(group.example, example, key=lambda one: [*one.values()])
        group.members += 1
        if reward is not None:
            group.mixed |= group.valid > 0 and reward != group.reward
            group.valid, group.reward = group.valid + 1, reward
        if group.members == size:
            self._close(self.open.pop(name))

    def _close(self, group: _Group) -> None:
        if group.valid > 1:
            self.groups += 1
            if not group.mixed:
                self._note("equal_rewards", 1, group.example)

    def to_json(self) -> JsonObject:
        """The signs that were found, in the order of `SIGNS`; groups that are incomplete count as they are."""
        whole = replace(self, found=Counter(self.found), examples={**self.examples}, open={})
        for group in self.open.values():
            whole._close(group)
        return whole._signs()

    def _signs(self) -> JsonObject:
        totals = {"turn": self.turns, "episode": self.episodes, "group": self.groups}
        out: JsonObject = {}
        for name, sign in SIGNS.items():
            if count := self.found[name]:
                of = totals[sign.unit]
                out[name] = {"found": count, "of": of, "unit": f"{sign.unit}s", "share": count / of if of else None}
                out[name] |= {"example": self.examples[name], "advice": sign.advice}
        if "faults" in out:
            out["faults"]["by_turns"] = [
                {"turns": _range(digits), "episodes": episodes, "faults": faults}
                for digits, (episodes, faults) in sorted(self.lengths.items())
            ]
        return out


def _range(digits: int) -> str:
    """The numbers with so many binary digits: ``0``, ``1``, ``2-3``, ``4-7``."""
    return str(digits) if digits < 2 else f"{1 << digits - 1}-{(1 << digits) - 1}"


def health_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """Two lines for each sign: how often it was found, with an example, and what to do."""
    for name, sign in found.items():
        of = counted(sign["of"], sign["unit"][:-1])
        example = ", ".join(f"{key} {value}" for key, value in sign["example"].items())
        yield f"{SIGNS[name].title}: {sign['found']:,} of {of} ({percent(sign['share'])}), such as {example}"
        if lengths := sign.get("by_turns"):
            parts = [f"{one['turns']}: {one['faults']:,} of {one['episodes']:,}" for one in lengths]
            yield f"  by turns: {'; '.join(parts)}"
        yield f"  {sign['advice']}"


def health_words(found: Mapping[str, Any]) -> list[str]:
    """One short phrase for each sign, for a line of progress."""
    return [f"{name.replace('_', ' ')} {sign['found']:,}/{sign['of']:,}" for name, sign in found.items()]
