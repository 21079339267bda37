"""A criterion as a question to a judge: what should hold, the facts it needs, and which answer needs evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.criteria import Criterion, ModelCheck
from simia_gym.rewards.judge.judge_record import Side
from simia_gym.rewards.programs.program import Args
from simia_gym.types import CriterionKind, JsonObject

_GOAL = (
    "At the end of the episode the value at every pointer in facts.goal is the one given there (null: there is nothing)"
    ", and nothing else was changed. Take the calls that succeeded and their answers for what was done."
)
_NOTHING = "Nothing was changed by the end of the episode: no call that changes something succeeded."
# Programs that hold where something did not happen, which nobody can quote.
_ABSENCES = frozenset(
    {
        "unchanged",
        "not_says",
        "not_claimed",
        "not_called",
        "no_writes",
        "gold_writes",
        "confirmed_writes",
        "no_errors",
        "max_turns_used",
    }
)


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked.

    Attributes:
        id: The criterion's id.
        kind: Its kind.
        text: What should hold.
        facts: What the judge must know besides the record, if anything.
        burden: The answer that needs evidence: ``not_met`` where something must not have happened, else ``met``.
    """

    id: str
    kind: CriterionKind
    text: str
    facts: JsonObject
    burden: Literal["met", "not_met"]

    @property
    def data(self) -> JsonObject:
        """The content of the block ``criterion``."""
        data: JsonObject = {"id": self.id, "kind": self.kind, "question": self.text}
        if self.facts:
            data["facts"] = self.facts
        return data

    @property
    def trusted(self) -> frozenset[Side]:
        """Whose words count as evidence.

        The agent's own words never prove that something is true, only that it said them. They count for communication
        criteria and for showing that something forbidden happened. A goal is proven by tools and pages alone, because a
        user may only repeat what the agent has claimed.
        """
        if self.burden == "not_met":
            return frozenset({"said", "called", "heard", "seen"})
        if self.kind == "goal":
            return frozenset({"seen"})
        return frozenset({"said", "heard", "seen"}) if self.kind == "communication" else frozenset({"heard", "seen"})


def question_of(criterion: Criterion, finished: FinishedEpisode) -> Question:
    """Put a criterion as a question.

    Args:
        criterion: The criterion; one that a program checks is put as what the program checks.
        finished: The episode.
    """
    check = criterion.check
    if isinstance(check, ModelCheck):
        burden: Literal["met", "not_met"] = "not_met" if criterion.kind == "forbidden" else "met"
        return Question(criterion.id, criterion.kind, check.question.strip(), dict(check.options), burden)
    name = check.program.name
    arguments = _arguments(check.args)
    facts: JsonObject = {}
    absent = criterion.kind == "forbidden" or name in _ABSENCES
    text = check.program.summary
    if name == "goal_state":
        goal = list(finished.task.goal or ())
        facts["goal"] = goal
        text = _GOAL if goal else _NOTHING
        absent = absent or not goal
    elif criterion.says.strip():
        text = f"{criterion.says.strip()} ({text})" if text else criterion.says.strip()
    if name == "gold_writes":
        facts["gold"] = list(finished.task.gold)
    if arguments:
        facts["arguments"] = arguments
    return Question(criterion.id, criterion.kind, text or criterion.id, facts, "not_met" if absent else "met")


def _arguments(args: Args | Mapping[str, Any]) -> JsonObject:
    """The arguments that a rubric gives, as data."""
    if isinstance(args, Args):
        return args.model_dump(mode="json", exclude_unset=True)
    return dict(args)
