"""The judge that asks a language model: one criterion per request, with evidence that code verifies.

All prompts about an episode begin alike, so that server prefix caches work: first instructions, policy, domain and
task, which are the same for every episode of the task; then the record, the same for every criterion; the criterion
comes last. If the judge is unsure, or gives no valid evidence even when asked again, it abstains; if a call fails, that
is a fault. Neither counts as a missed criterion.
"""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from simia_gym.common.json_encoding import encode
from simia_gym.errors import Fault, InputError
from simia_gym.llm.ask import record, record_unread
from simia_gym.llm.blocks import block, make_nonce
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.types import ChatModel, ChatRequest, Habits, Reply, ReplySchema, SentForm, Unread
from simia_gym.prompts import load_prompt
from simia_gym.record.finished_episode import Event, FinishedEpisode
from simia_gym.rewards.criteria import Criterion
from simia_gym.rewards.finding import Finding
from simia_gym.rewards.judge.evidence import complaint, located, real
from simia_gym.rewards.judge.judge_record import MAX_RECORD, judge_record
from simia_gym.rewards.judge.question import Question, question_of
from simia_gym.types import Evidence, JsonObject

if TYPE_CHECKING:
    from simia_gym.domain.domain import Domain

T = TypeVar("T")


def _form(length: int, number: int) -> JsonObject:
    """A judgement whose texts have at most so many characters, and whose evidence at most so many items."""
    return {
        "type": "object",
        "properties": {
            "evidence": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"event": {"type": "integer"}, "quote": {"type": "string", "maxLength": length}},
                    "required": ["event", "quote"],
                    "additionalProperties": False,
                },
                "maxItems": number,
            },
            "reason": {"type": "string", "maxLength": length},
            "verdict": {"type": "string", "enum": ["met", "not_met", "unsure"]},
        },
        "required": ["evidence", "reason", "verdict"],
        "additionalProperties": False,
    }


REPLY = ReplySchema(
    "judgement",
    _form(20_000, 100),  # a judge is asked to be shorter, but what is somewhat longer is no worse
    Habits(
        {
            **dict.fromkeys(("decision", "judgement", "judgment", "result"), "verdict"),
            **dict.fromkeys(("rationale", "explanation", "reasoning", "justification"), "reason"),
        },
        {
            "verdict": {
                **dict.fromkeys(("satisfied", "fulfilled"), "met"),
                **dict.fromkeys(("unmet", "not_satisfied", "not_fulfilled"), "not_met"),
                **dict.fromkeys(("uncertain", "unknown", "not_sure"), "unsure"),
            }
        },
        defaults={"reason": ""},
        loose=frozenset({"reason"}),
    ),
    SentForm(_form(1_000, 10)),
)

_REASON = 500


class LLMJudge:
    """Judges criteria by asking a model; can judge many episodes at once.

    Args:
        domain: The domain; its ``prompts/judge.md``, if present, replaces the default instructions.
        model: The model that judges.
        votes: Number of votes on each criterion; the majority of all votes decides.
        votes_gating: Number of votes on forbidden and required criteria; ``None`` for ``votes``.
        max_record: Maximum number of characters of an episode's record in the prompt.

    Raises:
        InputError: A number of votes is even or below 1, or the instructions cannot be read.
    """

    def __init__(
        self,
        domain: Domain,
        model: ChatModel,
        *,
        votes: int = 1,
        votes_gating: int | None = None,
        max_record: int = MAX_RECORD,
    ) -> None:
        self.domain, self.model, self.max_record = domain, model, max_record
        self.votes, self.votes_gating = votes, votes if votes_gating is None else votes_gating
        for name, number in (("votes", self.votes), ("votes_gating", self.votes_gating)):
            if number < 1 or number % 2 == 0:
                raise InputError(f"{number} votes have no majority", where=name, fix="Use an odd number, such as 3.")
        self._file = load_prompt("judge", domain.folder)

    async def judge(self, finished: FinishedEpisode, criteria: Sequence[Criterion]) -> list[Finding]:
        """Judge criteria concurrently, each in requests of its own; see `simia_gym.rewards.rubric.Judge`.

        The episode's ledger, if any, gets the answers in the order of the criteria. After a request has failed, no
        question behind it is asked, and the ledger gets the answers up to it.

        Raises:
            Fault: A model call failed, or the record is too long.
        """
        if not criteria:
            return []
        nonce = make_nonce(self.domain.hash, finished.digest)
        opening = self._opening(finished, nonce)
        shown = encode(block("record", nonce, judge_record(finished, self.max_record)))
        stride = 2 * max(self.votes, self.votes_gating)
        ballots = []
        for position, criterion in enumerate(criteria):
            question = question_of(criterion, finished)
            asked = encode(f"\n\n{block('criterion', nonce, question.data)}")
            prompt = opening.fork()
            prompt.add_encoded(b'{"role":"user","content":' + shown[:-1] + asked[1:] + b"}")
            prompt.static = prompt.size - len(asked)  # policy and record are the same for all questions
            gating = criterion.required or criterion.kind == "forbidden"
            votes = self.votes_gating if gating else self.votes
            ballots.append(_Ballot(self.model, finished, question, prompt, nonce, votes, position * stride))
        tasks = [asyncio.ensure_future(ballot.decide()) for ballot in ballots]
        failed = await _first_failure(tasks)
        if finished.ledger is not None:
            # Which answers behind the first failure arrived is chance.
            for ballot in ballots if failed is None else ballots[: failed + 1]:
                for request, reply in sorted(ballot.exchanges, key=lambda pair: pair[0].ordinal):
                    if isinstance(reply, Reply):
                        waited = ballot.waited[request.ordinal]
                        record(request, reply, finished.ledger, finished.turns, waited)
                    else:
                        record_unread(request, reply, finished.ledger, finished.turns)
        if failed is not None:
            await tasks[failed]  # raises its fault
        return [task.result() for task in tasks]

    def _opening(self, finished: FinishedEpisode, nonce: str) -> Prompt:
        """The common prefix of all prompts about episodes of a task."""
        task, domain = finished.task, self.domain
        parts = (
            self._file.fill(policy=domain.policy.strip()).strip(),
            block("domain", nonce, domain.about),
            block("task", nonce, {"id": task.id, "digest": finished.digest, "split": task.split}),
        )
        prompt = Prompt()
        prompt.add("system", "\n\n".join(parts))
        prompt.mark_static()
        return prompt


@dataclass
class _Ballot:
    """Collects the votes on one criterion."""

    model: ChatModel
    finished: FinishedEpisode
    question: Question
    prompt: Prompt
    nonce: str
    votes: int
    first: int
    exchanges: list[tuple[ChatRequest, Reply | Sequence[Unread]]] = field(default_factory=list)
    waited: dict[int, float] = field(default_factory=dict)

    async def decide(self) -> Finding:
        """Request votes until there is a majority."""
        enough = self.votes // 2 + 1
        votes = await _all(self._vote(number) for number in range(enough))
        if self.votes == 1:
            return votes[0]
        if len({vote.met for vote in votes}) > 1 or votes[0].met is None:
            votes += await _all(self._vote(number) for number in range(enough, self.votes))
        for met in (True, False):
            agreeing = [vote for vote in votes if vote.met is met]
            if len(agreeing) >= enough:
                chosen = agreeing[0]
                reason = f"{len(agreeing)} of {len(votes)} votes: {chosen.reason}"
                return Finding(chosen.value, reason, chosen.evidence)
        words = ", ".join("unsure" if vote.met is None else "met" if vote.met else "not met" for vote in votes)
        return Finding.unknown(f"the judge's votes have no majority: {words}")

    async def _vote(self, number: int) -> Finding:
        reply = await self._ask(self.prompt, number, 0)
        finding, complaints = self._weigh(reply.data, strict=True)
        if not complaints:
            return finding
        retry = self.prompt.fork()
        retry.add("assistant", block("answer", self.nonce, reply.data))
        retry.add("user", block("violations", self.nonce, complaints))
        reply = await self._ask(retry, number, 1)
        finding, complaints = self._weigh(reply.data, strict=False)
        if not complaints:
            return finding
        return Finding.unknown(f"the judge gave no evidence for {reply.data['verdict']!r}: {complaints[0]}")

    async def _ask(self, prompt: Prompt, vote: int, attempt: int) -> Reply:
        request = ChatRequest(
            role="judge",
            prompt=prompt,
            reply=REPLY,
            seed=zlib.crc32(f"judge:{self.finished.seed}:{self.question.id}:{vote}:{attempt}".encode()) >> 1,
            scope=self.finished.scope,
            ordinal=self.first + 2 * vote + attempt,
            purpose="repair" if attempt else "answer",
        )
        began = time.perf_counter()
        try:
            reply = _located(await self.model.complete(request), self.finished.events)
        except Fault as fault:
            self.exchanges.append((request, fault.unread))
            raise
        self.exchanges.append((request, reply))
        self.waited[request.ordinal] = time.perf_counter() - began
        return reply

    def _weigh(self, data: Any, *, strict: bool) -> tuple[Finding, list[str]]:
        """Turn a reply into a finding and list the problems of its evidence.

        If ``strict``, as for the first reply, every piece of evidence must be valid. For the second reply one valid
        piece is enough, and the others are dropped.
        """
        events, verdict, reason = self.finished.events, data["verdict"], data["reason"].strip()[:_REASON]
        reason = reason or "the judge gave no reason"
        pieces = [Evidence(int(piece["event"]), piece["quote"]) for piece in data["evidence"]]
        if verdict == "unsure":
            return Finding.unknown(f"the judge was unsure: {reason}"), []
        if verdict != self.question.burden:
            return Finding.of(verdict == "met", reason, real(events, pieces)), []
        complaints = [complaint(events, piece, self.question.trusted) for piece in pieces]
        good = [piece for piece, wrong in zip(pieces, complaints, strict=True) if wrong is None]
        bad = [wrong for wrong in complaints if wrong is not None]
        if good and not (strict and bad):
            return Finding.of(verdict == "met", reason, good), []
        return Finding.unknown(reason), bad or [f"{verdict!r} needs evidence, and there is none"]


def _located(reply: Reply, events: Sequence[Event]) -> Reply:
    """The reply with each quote as it stands in the record, if it differs from it in what is no matter."""
    if reply.read is None:
        return reply
    pieces = [located(events, Evidence(int(item["event"]), item["quote"])) for item in reply.data["evidence"]]
    if all(piece is None for piece in pieces):
        return reply
    evidence = [
        item if piece is None else {**item, "quote": piece}
        for item, piece in zip(reply.data["evidence"], pieces, strict=True)
    ]
    return reply.put_right({**reply.data, "evidence": evidence}, "quote")


async def _first_failure(tasks: Sequence[asyncio.Task[Any]]) -> int | None:
    """Wait for tasks, and cancel those behind one that fails; gives the index of the first that has failed."""
    failed: int | None = None
    pending: set[asyncio.Task[Any]] = set(tasks)
    try:
        while pending:
            _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
            failed = next((at for at, task in enumerate(tasks[:failed]) if task.done() and task.exception()), failed)
            for task in tasks[failed + 1 :] if failed is not None else ():
                task.cancel()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return failed


async def _all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Wait for all coroutines, so that none outlives the call; then raise the first error."""
    return _values(await asyncio.gather(*work, return_exceptions=True))


def _values(results: Iterable[T | BaseException]) -> list[T]:
    values: list[T] = []
    for result in results:
        if isinstance(result, BaseException):
            raise result
        values.append(result)
    return values
