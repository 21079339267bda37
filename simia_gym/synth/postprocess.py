"""From drafts to trajectories: read, checked, compared with all before them, and kept or dropped with the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from simia_gym.common.json_encoding import encode, hash_of
from simia_gym.synth.domains import Subject
from simia_gym.synth.drafts import Draft
from simia_gym.synth.seeds import Seed
from simia_gym.trajectories.contamination import Benchmark
from simia_gym.trajectories.duplicates import Duplicates
from simia_gym.trajectories.examine import cut_before, examine
from simia_gym.trajectories.findings import Finding
from simia_gym.trajectories.form import tools_of
from simia_gym.trajectories.written import UnreadableText, from_text
from simia_gym.types import JsonObject, Message

_OF_A_BEGINNING = ("unanswered_call", "no_answer")
"""What is found in a trajectory that was cut before a mistake, and is no mistake in it."""
KEPT, DROPPED = "trajectories.jsonl", "dropped.jsonl"


@dataclass
class Counts:
    """What became of drafts.

    Attributes:
        drafts: Number of drafts.
        faults: Drafts that hold nothing, by reason.
        dropped: Dropped ones by their first finding.
        kept: Kept ones by kind.
        repaired: Kept ones in which JSON was repaired.
        cut: Kept ones that were cut before a mistake.
    """

    drafts: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    repaired: int = 0
    cut: int = 0

    def to_json(self) -> JsonObject:
        """As an object."""
        return {
            name: dict(sorted(value.items())) if isinstance(value, Counter) else value
            for name, value in vars(self).items()
        }


class Kept(NamedTuple):
    """A trajectory that passed: its line, and its messages with calls in OpenAI's layout."""

    row: JsonObject
    messages: list[Message]


class Postprocess:
    """Checks drafts one after the other; the order decides which of two equal ones stays.

    Args:
        subject: The domain.
        seeds: The seeds by id, whose copies are dropped too.
        benchmark: Tasks that no trajectory may hold.
        near: See `Duplicates`; 0 for exact copies only.
        cut: Whether a beginning without a mistake is kept.
        least: Least reward of a played trajectory.

    Attributes:
        counts: What became of the drafts.
    """

    def __init__(
        self,
        subject: Subject,
        seeds: Mapping[str, Seed],
        benchmark: Benchmark,
        *,
        near: float = 0.0,
        cut: bool = False,
        least: float = 1.0,
    ) -> None:
        self._subject, self._seeds, self._benchmark = subject, seeds, benchmark
        self._cut, self._least = cut, least
        self._tools = tools_of(subject.tools)
        self._shown = [{"type": "function", "function": _bare(tool)} for tool in subject.tools]
        self._known = Duplicates(near or None)
        for seed in seeds.values():
            self._known.find(f"seed {seed.id}", seed.messages)
        self.counts = Counts()

    def check(self, draft: Draft) -> Kept | list[Finding] | None:
        """Check a draft.

        Returns:
            A kept trajectory; the findings of a dropped one; ``None`` if a fault left nothing to check.
        """
        counts = self.counts
        counts.drafts += 1
        if draft.fault:
            counts.faults[draft.fault.partition(":")[0]] += 1
            return None
        try:
            messages, repaired = self._read(draft)
        except UnreadableText as error:
            return self._dropped([Finding(error.code, 0, f"line {error.line}: {error.why}")])
        reward = draft.facts.get("reward")
        if reward is not None and reward < self._least:
            return self._dropped([Finding("low_reward", 0, f"its reward is {reward:g}")])
        findings = examine(messages, self._tools)
        was_cut = False
        if findings and self._cut:
            rest = cut_before(messages, findings)
            if rest is not None and all(one.code in _OF_A_BEGINNING for one in examine(rest, self._tools)):
                messages, findings, was_cut = rest, [], True
        if findings:
            return self._dropped(findings)
        held = self._benchmark.find(messages)
        if held is not None:
            return self._dropped([Finding("contaminated", 0, f"it holds {held[1]:.0%} of the benchmark's {held[0]}")])
        twin = self._known.find(draft.id, messages)
        if twin is not None:
            return self._dropped([Finding(twin[0], 0, f"it is like {twin[1]}")])
        counts.kept[draft.kind] += 1
        counts.repaired += repaired > 0
        counts.cut += was_cut
        return Kept(self._row(draft, messages, repaired, was_cut), messages)

    def reject(self, kind: str, finding: Finding) -> None:
        """Count a kept trajectory of a kind as dropped after all."""
        self.counts.kept[kind] -= 1
        self.counts.dropped[finding.code] += 1

    def _read(self, draft: Draft) -> tuple[list[Message], int]:
        if draft.way == "single":
            written = from_text(draft.text)
            return self._subject.with_calls(written.messages), written.repaired
        return self._subject.with_calls(draft.messages), 0

    def _dropped(self, findings: list[Finding]) -> list[Finding]:
        self.counts.dropped[findings[0].code] += 1
        return findings

    def _row(self, draft: Draft, messages: list[Message], repaired: int, was_cut: bool) -> JsonObject:
        """The line of a kept trajectory: OpenAI's chat layout with what is known of it."""
        subject, seed = self._subject, self._seeds.get(draft.seed)
        # What was played stands as it was said; what was written, as a policy would say it.
        said = draft.messages[: len(messages)] if draft.way == "played" else subject.in_grammar(messages)
        name = "" if subject.domain is None else subject.domain.name
        prompt = draft.facts.get("prompt", subject.prompt)
        row: JsonObject = {
            "id": draft.id,
            "env": subject.env,
            "messages": [{"role": "system", "content": subject.system(prompt)}, *map(_as_text, said)],
            "kind": draft.kind,
            "split": "train",
            "policy": draft.model,
            "way": draft.way,
            "proven": draft.way == "played",
            "content": hash_of(encode(messages))[:12],
            "checks": {"programs": "passed", "repaired": repaired, "cut": was_cut},
            **{key: value for key, value in draft.facts.items() if key in ("task", "seed", "reward", "success")},
        }
        if not subject.in_text:
            row["tools"] = self._shown
        if name:
            row["prompt"] = prompt
        if draft.vary:
            row["vary"] = draft.vary
        if seed is not None:
            row |= {"seed_id": seed.id, "seed_source": seed.source, "licence": seed.licence, "redacted": seed.redacted}
        if name and not row.get("task"):
            row["domain"] = name
        return row


def _as_text(message: Message) -> Message:
    """A message whose calls have their arguments as JSON text, as chat APIs have them."""
    if not message.get("tool_calls"):
        return message
    calls = [
        {**call, "function": {**call["function"], "arguments": encode(call["function"]["arguments"]).decode()}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def _bare(tool: JsonObject) -> JsonObject:
    function = tool.get("function", tool)
    return {key: value for key, value in function.items() if key in ("name", "description", "parameters")}
