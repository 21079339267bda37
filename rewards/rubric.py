"""The rubric reward: programs and a judge check criteria, and forbidden behaviour sets the reward to 0.

The reward is the strict pass (1 if every required criterion is met and nothing forbidden happened, else 0), the
weighted score, or the domain's published grade; the verdict holds all that exist. If a criterion that matters cannot be
judged, the verdict is invalid, never 0: to skip the criterion or to count it as missed would train the policy on a
wrong reward.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from simia_gym.common.files import Lines
from simia_gym.common.validation import StrictModel, validated
from simia_gym.contracts import NO_JUDGE
from simia_gym.domain.goal import check_goal
from simia_gym.errors import DomainError, Fault, InputError, did_you_mean
from simia_gym.language import read
from simia_gym.record.finished_episode import FinishedEpisode
from simia_gym.rewards.criteria import Criterion, ModelCheck, Rubric, load_items
from simia_gym.rewards.finding import PASS, Finding, Grade, GradeFunction, unfounded
from simia_gym.rewards.judge.question import question_of
from simia_gym.rewards.programs.call_pattern import unknown_arguments
from simia_gym.rewards.programs.program import load_function
from simia_gym.rewards.programs.state_checks import NO_STATE, NO_STATE_FAULT, STATE_PROGRAMS, hide_missing_state
from simia_gym.state.pointer import covers, pointer_parts
from simia_gym.types import CriterionResult, Evidence, Task, Verdict

__all__ = ["Criterion", "Judge", "Rubric", "RubricOptions", "RubricReward", "load_items"]


JudgeScope = Literal["llm", "all"]


class Judge(Protocol):
    """Judges criteria that programs cannot check."""

    async def judge(self, finished: FinishedEpisode, criteria: Sequence[Criterion]) -> Sequence[Finding]:
        """Judge each of several criteria independently.

        Most have a `ModelCheck`; `simia_gym.rewards.judge.question.question_of` turns one with a program into a
        question about what the program checks.

        Returns:
            One finding for each criterion, in order; without a value if the judge is unsure.

        Raises:
            Fault: The judging itself failed.
        """
        ...


class RubricOptions(StrictModel):
    """The ``reward_options`` of a domain."""

    value: Literal["strict", "weighted"] = Field(
        default="strict", description="What the reward is, in domains without a grade."
    )
    grade: str | None = Field(
        default=None, description="The grade function, 'package.module:function' or 'file.py:function'."
    )
    name: str | None = Field(default=None, description="What the basis calls the grade.")


class _Options(BaseModel):
    reward_options: RubricOptions


class RubricReward:
    """Scores episodes by a rubric.

    Args:
        items: The domain's rubric items, as data.
        options: See `RubricOptions`.
        folder: The domain's folder, for code written as ``file.py:name``.
        where: The rubric's file, for error messages.
        judge: Judges ``llm`` checks, and checks of the state if the simulator kept none; without a judge, verdicts that
            depend on such a check are invalid.
        judge_scope: ``llm``, or ``all`` to let the judge decide all criteria; the programs' results are then in the
            verdict's parts, under ``programs``, to compare the judge with them.

    Raises:
        DomainError: The rubric or the options have mistakes.
    """

    def __init__(
        self,
        items: Sequence[Any] = (),
        options: Mapping[str, Any] | None = None,
        *,
        folder: Path | str | None = None,
        where: str = "rubric.yaml",
        judge: Judge | None = None,
        judge_scope: JudgeScope = "llm",
    ) -> None:
        place = None if folder is None else Path(folder)
        lines = Lines(Path(folder or ".") / "domain.yaml")
        given = {"reward_options": dict(options or {})}
        self.options = validated(_Options, given, where=lines.where).reward_options
        self.rubric = Rubric(items, folder=place, where=where)
        self.io = judge is not None or self.rubric.waits
        if judge_scope not in ("llm", "all"):
            raise InputError(f"judge_scope is {judge_scope!r}", where="judge_scope", fix="Use llm or all.")
        self._judge, self._where = judge, where
        self._judges_all = judge is not None and judge_scope == "all"
        self._grade: GradeFunction | None = None
        if self.options.grade is not None:
            fix = "Write `def grade(finished: FinishedEpisode) -> Grade`."
            at = lines.where(("reward_options", "grade"))
            self._grade = load_function(self.options.grade, place, at, fix)
            self.io = self.io or inspect.iscoroutinefunction(self._grade)

    @classmethod
    def for_domain(cls, items: Sequence[Any], options: Mapping[str, Any], **settings: Any) -> RubricReward:
        """Create the reward that `domain.yaml` configures; ``settings`` are further arguments of the class."""
        return cls(items, options, **settings)

    def criteria(self, task: Task) -> tuple[Criterion, ...]:
        """The criteria of a task: the domain's merged with the task's own.

        Raises:
            DomainError: The task's criteria are invalid, or no criterion is required.
        """
        criteria = self.rubric.for_task(task.id, task.criteria)
        positive = (c for c in criteria if c.kind not in ("forbidden", "conduct"))
        if self._grade is None and not any(c.required if self._strict else c.weight > 0 for c in positive):
            need = "required" if self._strict else "of weight above 0"
            fix = f"Make a goal or communication criterion {need}."
            raise DomainError(
                f"task {task.id!r} requires nothing: doing nothing would pass", where=self._where, fix=fix
            )
        return criteria

    def problems(
        self, task: Task, tools: Mapping[str, Any] | None = None, tables: Collection[str] = ()
    ) -> list[InputError]:
        """The problems of a task's rubric, found without playing the task.

        Criteria and goal may name only the given tools and tables, if any are given.
        """
        try:
            criteria = self.criteria(task)
        except DomainError as error:
            return list(error.problems or (error,))
        found: list[InputError] = []
        own = {item["id"] for item in task.criteria}
        for item in criteria:
            where = f"task {task.id!r}" if item.id in own else self.rubric.place(item.id)
            place = f"{where}: criterion {item.id!r}"
            for name in _unknown_tools(item, tools or {}):
                fix = f"The domain's tools: {', '.join(sorted(tools or {}))}."
                found.append(DomainError(f"check: there is no tool {name!r}", where=place, fix=fix))
            for name in _unknown_tables(item, tables):
                fix = f"{did_you_mean(name, tables)}The domain's tables: {', '.join(sorted(tables))}."
                found.append(DomainError(f"check: {name!r} names no table", where=place, fix=fix))
            if isinstance(item.check, ModelCheck):
                continue
            for name, given, known in unknown_arguments(item.check.args, tools or {}):
                fix = f"{did_you_mean(given, known)}Its arguments: {', '.join(known)}."
                found.append(DomainError(f"check: {name} has no argument {given!r}", where=place, fix=fix))
            if item.check.program.name == "goal_state" and task.goal is None:
                fix = "Give the task a goal (an empty list: nothing may change), or drop this criterion in it."
                found.append(DomainError(f"task {task.id!r} states no goal", where=place, fix=fix))
        try:
            check_goal(task.goal or (), tables)
        except InputError as error:
            found.append(DomainError(error.what, where=f"task {task.id!r}: {error.where}", fix=error.fix))
        return found

    def lost_without_state(self, task: Task) -> str | None:
        """Why no episode of a task can succeed if the simulator keeps no state; ``None`` if it can be judged."""
        if self.options.grade is not None:
            return f"the grade {self.options.name or self.options.grade} reads the state"
        if self._judge is not None:
            return None
        for item in self.criteria(task):
            if not isinstance(item.check, ModelCheck) and item.matters and item.check.program.name in STATE_PROGRAMS:
                return f"criterion {item.id!r} reads the state, and no judge is set (judge='llm')"
        return None

    async def score(self, finished: FinishedEpisode) -> Verdict:
        """Judge an episode.

        Raises:
            Fault: A program or the judge failed; names the criterion.
        """
        try:
            criteria = self.criteria(finished.task)
        except InputError as error:
            raise Fault("rubric", str(error), role="judge") from error
        seen = hide_missing_state(finished)
        found = {item.id: await _run(item, seen) for item in criteria if not isinstance(item.check, ModelCheck)}
        grade, ungraded = await self._graded(seen)
        if self._judge is not None:
            criteria = tuple(_to_judge(item, finished, found.get(item.id)) for item in criteria)
        asked = [item for item in criteria if isinstance(item.check, ModelCheck) or self._is_asked(found[item.id])]
        findings = {**found, **await self._ask(finished, asked)}
        programs = {name: finding.value for name, finding in found.items()} if self._judges_all else None
        parts = {**_unread(seen), **({} if programs is None else {"programs": programs})}
        return self._conclude(criteria, findings, grade, ungraded, parts)

    def _is_asked(self, found: Finding) -> bool:
        """Whether the judge decides a criterion that has a program: it decides all, or the program lacked the state."""
        return self._judges_all or (self._judge is not None and found.value is None and found.reason == NO_STATE)

    async def _ask(self, finished: FinishedEpisode, criteria: Sequence[Criterion]) -> dict[str, Finding]:
        if self._judge is None:
            unknown = Finding.unknown(NO_JUDGE)
            return {item.id: unknown for item in criteria}
        findings = await self._judge.judge(finished, criteria) if criteria else ()
        if len(findings) != len(criteria):
            message = f"the judge gave {len(findings)} findings for {len(criteria)} criteria"
            raise Fault("bug", message, role="judge")
        return {item.id: _founded(item, finished, found) for item, found in zip(criteria, findings, strict=True)}

    @property
    def _strict(self) -> bool:
        return self.options.value == "strict"

    async def _graded(self, finished: FinishedEpisode) -> tuple[Grade | None, str]:
        """The domain's grade, if any, and the reason if it cannot be computed."""
        if self._grade is None:
            return None, ""
        name = f"grade {self.options.grade}"
        grade = await _call(name, self._grade, finished)
        if isinstance(grade, Fault):
            return None, f"{name}: {grade.message}"
        # A user's function may return anything; accept only a grade from 0 to 1.
        reward: object = getattr(grade, "reward", None)
        if not isinstance(reward, int | float) or not 0 <= reward <= 1:
            raise Fault("bug", f"{name} gave {grade!r:.80}, not a Grade with a reward from 0 to 1", role="judge")
        for item in grade.criteria:
            _check_evidence(f"{name}, {item.id!r}", finished, item.evidence)
        return grade, ""

    def _conclude(
        self,
        criteria: Sequence[Criterion],
        findings: Mapping[str, Finding],
        grade: Grade | None,
        ungraded: str,
        parts: Mapping[str, Any],
    ) -> Verdict:
        own = tuple(findings[item.id].result(item.id, item.kind, item.weight, item.required) for item in criteria)
        results = own if grade is None else (*own, *_summed_up(grade))
        basis = self._basis()
        open_ = [one for item, one in zip(criteria, own, strict=True) if one.value is None and item.matters]
        reasons = [f"criterion {one.id!r}: {one.reason}" for one in open_]
        if ungraded:
            reasons.append(ungraded)
        if reasons:
            return Verdict(None, False, False, None, basis, results, parts=parts, reason="; ".join(reasons))
        missed = [one for one in own if not one.passed]
        fired = any(one.kind == "forbidden" for one in missed)
        gate = 0.0 if fired else 1.0
        score = gate * _weighted(results, 1.0 if grade is None else grade.reward)
        if grade is not None:
            reward = gate * grade.reward
            return Verdict(reward, True, reward >= PASS, score, basis, results, parts={**grade.parts, **parts})
        success = not any(one.required for one in missed)
        reward = float(success) if self._strict else score
        return Verdict(reward, True, success, score, basis, results, parts=parts)

    def _basis(self) -> str:
        if self.options.grade is None:
            return f"rubric:{self.options.value}"
        return f"grade:{self.options.name or self.options.grade} (success: 1)"


def _unknown_tools(item: Criterion, tools: Mapping[str, Any]) -> list[str]:
    """The tools that a criterion's program names and that are not among the domain's, if these are known."""
    named = () if isinstance(item.check, ModelCheck) or not tools else item.check.tools
    return [name for name in named if name not in tools]


def _unknown_tables(item: Criterion, tables: Collection[str]) -> Iterator[str]:
    """The tables, and the pointers into tables, that a criterion's program names and that are not among the domain's.

    Pointers may have ``*``, and may lead into private tables.
    """
    named = () if isinstance(item.check, ModelCheck) or not tables else item.check.tables
    for text in named:
        if text.startswith("/"):
            known = text.startswith("/_") or any(covers(pointer_parts(text)[:1], (table,)) for table in tables)
        else:
            known = text in tables
        if not known:
            yield text


def _to_judge(item: Criterion, finished: FinishedEpisode, found: Finding | None) -> Criterion:
    """A criterion as a judge decides it: one on conduct forbids then, and what its program found is a hint."""
    if item.kind != "conduct":
        return item
    item = item.model_copy(update={"kind": "forbidden", "required": True})
    if found is None:
        return item
    question = question_of(item, finished)
    hint = {"holds": found.met, "reason": found.reason, "quotes": [piece.quote for piece in found.evidence]}
    return item.model_copy(update={"check": ModelCheck(question.text, {**question.facts, "hint": hint})})


async def _run(item: Criterion, finished: FinishedEpisode) -> Finding:
    check = item.check
    assert not isinstance(check, ModelCheck)
    unknown = _unknown_tools(item, finished.tools)
    if unknown:
        raise Fault("bug", f"criterion {item.id!r}: there is no tool {unknown[0]!r}", role="judge")
    program = check.program
    finding = await _call(f"criterion {item.id!r}: program {program.name}", program.function, finished, check.args)
    return Finding.unknown(NO_STATE) if isinstance(finding, Fault) else _founded(item, finished, finding)


async def _call(what: str, function: Callable[..., Any], finished: FinishedEpisode, *arguments: Any) -> Any:
    """Run a domain's function, which may be a coroutine function.

    Returns:
        Its result, or the fault if it needs a state that the simulator did not keep.
    """
    try:
        result = function(finished, *arguments)
        return await result if inspect.iscoroutine(result) else result
    except Fault as fault:
        if fault.kind == NO_STATE_FAULT and finished.stateless:
            return fault
        raise
    except Exception as error:
        raise Fault("bug", f"{what} raised {type(error).__name__}: {error}", role="judge") from error


def _founded(item: Criterion, finished: FinishedEpisode, finding: Finding) -> Finding:
    """Check a finding and its evidence."""
    # A user's program may return anything; accept only a finding from 0 to 1.
    value: object = getattr(finding, "value", math.nan)
    if value is not None and not (isinstance(value, (int, float)) and 0 <= value <= 1):
        raise Fault("bug", f"criterion {item.id!r}: {finding!r:.120} is no finding from 0 to 1", role="judge")
    _check_evidence(f"criterion {item.id!r}", finished, finding.evidence)
    return finding


def _check_evidence(what: str, finished: FinishedEpisode, evidence: Sequence[Evidence]) -> None:
    """Raise a fault for a quote that is not in the record: it means that the check cannot be trusted."""
    piece = unfounded(finished, evidence) if evidence else None
    if piece is not None:
        message = f"{what}: the quote {piece.quote[:80]!r} does not occur in event {piece.event}"
        raise Fault("evidence", message, role="judge")


def _summed_up(grade: Grade) -> tuple[CriterionResult, ...]:
    """A grade's criteria, preceded by a weightless one with the grade's reason."""
    if not grade.reason:
        return grade.criteria
    met = grade.reward >= PASS
    return (CriterionResult("grade", "goal", 0.0, False, grade.reward, met, grade.reason), *grade.criteria)


def _unread(finished: FinishedEpisode) -> dict[str, Any]:
    """What of the agent's messages was in another language or disguised, as a part of the verdict, if anything was."""
    readings = [read(told.text) for told in finished.agent_turns]
    foreign = sum(len(reading.foreign) for reading in readings)
    disguised = sum(reading.disguised for reading in readings)
    return {"unread": {"sentences": foreign, "disguised_characters": disguised}} if foreign or disguised else {}


def _weighted(results: Sequence[CriterionResult], otherwise: float) -> float:
    """The weighted mean of the values; ``otherwise`` if all weights are 0."""
    total = sum(item.weight for item in results)
    if total <= 0:
        return otherwise
    score = sum(item.weight * (item.value or 0.0) for item in results if item.weight) / total
    return 1.0 if score >= PASS else score
