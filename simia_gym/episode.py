"""The episode: the async state machine behind the Gymnasium environments, rollouts and trainers.

`reset` begins an episode. `step` takes one action of the policy: the domain's grammar parses the text, which goes
either to the user or to the tools, never to both. Each answer is a transition with JSON Patch operations on the state,
and each event is appended to the ledger. If no component does I/O (`inline`), both coroutines finish without
suspending, so that synchronous callers need no event loop.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TypeVar, cast

from simia_gym.actions.assistant import as_action, further_fields, with_provider
from simia_gym.actions.calls import call_message, read_action, with_ids
from simia_gym.actions.dialects import Dialect, DialectReader, invents
from simia_gym.actions.in_a_row import InARow
from simia_gym.actions.refused import MOST_CALLS, refusals, refused_calls
from simia_gym.common.json_encoding import as_text
from simia_gym.common.secrets import without_secrets
from simia_gym.contracts import EPISODE, Simulator, StepContext, User
from simia_gym.domain.domain import Domain
from simia_gym.domain.world import own_code
from simia_gym.errors import ActionError, EpisodeOver, Fault, InputError, InUse, PatchError, Role, StorageError
from simia_gym.record.finished_episode import LIMITS, TOKEN_LIMIT, TURN_LIMIT, FinishedEpisode, Reward
from simia_gym.record.ledger import Ledger
from simia_gym.record.verdict import faulted, to_json
from simia_gym.state import FrozenDict, State
from simia_gym.state.frozen import frozen_dict
from simia_gym.types import (
    Action,
    Calls,
    End,
    Feedback,
    JsonObject,
    Message,
    PolicyAction,
    Say,
    Start,
    Step,
    Task,
    ToolCall,
    Transition,
    Verdict,
)
from simia_gym.views.history import HistoryView

T = TypeVar("T")
logger = logging.getLogger("simia_gym")

_EMPTY = FrozenDict()


class Episode:
    """Plays the episodes of a domain, one at a time; `reset` begins the next.

    Args:
        domain: The domain.
        simulator: Answers the tool calls.
        user: Answers the policy's messages; ``None`` if the domain has no user.
        reward: Computes the verdict when the episode ends.
        prompt: ``full`` or ``compact`` system message.
        max_turns: Turn limit; by default the domain's.
        feedback: ``terse`` or ``explain``: whether the error for an invalid action shows a valid one.
        models: Names of the models that take part, by role; written to the record and to the info of `reset`.
        history: What the policy is shown of the history; ``None`` for the whole transcript. Written likewise.
        dialect: The model family in whose own format calls are executed, too.

    Attributes:
        ledger: The events of the episode so far.
        state: The current state.
        verdict: The verdict once the episode has ended, else ``None``.
        written: The verdict as JSON values, as written to the record.
        fault: The fault that ended the episode, if one did.
        inline: Whether `reset` and `step` never wait for I/O.
        native_tools: Whether the policy gives its model the tools beside the messages. From the next `reset` on, the
            system message then leaves out the tools and the format of calls, and the transcript has calls with ids.
    """

    def __init__(
        self,
        domain: Domain,
        *,
        simulator: Simulator,
        user: User | None,
        reward: Reward,
        prompt: str = "full",
        max_turns: int | None = None,
        feedback: Feedback = "terse",
        models: Mapping[str, str] | None = None,
        history: HistoryView | None = None,
        dialect: Dialect | None = None,
    ) -> None:
        self.domain, self.simulator, self.user, self.reward = domain, simulator, user, reward
        self.prompt, self.feedback, self.models, self.history = prompt, feedback, dict(models or {}), history
        self.max_turns = max_turns or domain.config.max_turns
        others = (part.io for part in (user, domain.world) if part is not None)
        self.inline = not (simulator.io or reward.io or any(others))
        self._in_use = threading.Lock()
        self.native_tools = False
        self._begun = self._native = False
        self._as_tool = domain.grammar.observation_role == "tool"
        self._dialect = None if dialect is None else DialectReader(dialect, domain.tools)
        self._invents = invents(domain.grammar, self._dialect)
        self._messages: list[FrozenDict] = []
        self._unwritten: dict[int, tuple[tuple[ToolCall, ...], str, JsonObject | None]] = {}
        self._provider: JsonObject | None = None
        self._in_a_row = InARow()
        self.ledger = Ledger()
        self.state: State = domain.base
        self.initial: State = domain.base
        self.task: Task | None = None
        self.seed, self.group = 0, ""
        self.turn = 0
        self.ended: str | None = None
        self.verdict: Verdict | None = None
        self.written: FrozenDict | None = None
        self.fault: Fault | None = None

    @property
    def messages(self) -> list[Message]:
        """The whole transcript so far in the OpenAI layout, the policy's turns included.

        The caller may change the list; the messages in it are shared and read-only, so that a long transcript need
        not be copied each turn. The policy's calls are written as messages here, when somebody reads them.
        """
        for place, (calls, beside, provider) in self._unwritten.items():
            self._messages[place] = calls_message(calls, beside, provider)
        self._unwritten.clear()
        return [*self._messages]

    @property
    def native(self) -> bool:
        """Whether the system message of this episode leaves out the tools and the format of calls."""
        return self._native

    @property
    def final_state(self) -> str | None:
        """The hash of the state at the end, without private tables; ``None`` before it and after a fault."""
        if self.verdict is None or not self.verdict.valid:
            return None
        return self.state.hash(name for name in self.state.tables if name[0] != "_")

    @property
    def _system(self) -> str:
        prompts = self.domain.native_prompts if self._native else self.domain.prompts
        return prompts[self.prompt]

    @property
    def shown(self) -> list[Message]:
        """What a policy is shown before its next action: `messages`, or the prompt that `history` writes.

        Raises:
            Fault: The domain's function raised an exception.
        """
        if self.history is None or self.task is None:
            return self.messages
        write = partial(
            self.history.messages,
            system=self._system,
            instruction=self.task.instruction,
            grammar=self.domain.grammar,
        )
        return own_code("history", write, self.ledger.events)

    async def reset(self, task: Task, *, seed: int = 0, group: str = "") -> Start:
        """Begin an episode.

        Args:
            task: The task to play.
            seed: Random seed.
            group: Group id: within a group, a model gives the same answer to the same tool call in the same state.
                By default, the episodes with the same task and seed form a group.

        Returns:
            The first observation and messages.

        Raises:
            Fault: The simulator or the user failed to give the first message.
            InputError: The task does not fit the domain or the user.
            InUse: The episode is in the middle of a step or reset.
        """
        if not self._in_use.acquire(blocking=False):
            raise _busy()
        try:
            return await self._reset(task, seed, group)
        finally:
            self._in_use.release()

    async def _reset(self, task: Task, seed: int, group: str) -> Start:
        await self.close()
        self.task, self.seed, self.turn = task, seed, 0
        self.ended, self.verdict, self.written, self.fault = "reset", None, None, None
        self._native = self.native_tools and bool(self.domain.native_prompts)
        self._as_tool = self._native or self.domain.grammar.observation_role == "tool"
        self.ledger = Ledger()
        try:
            self.prepared = prepared = self.domain.prepare(task)
        except PatchError as error:
            fix = "Mend its setup operations."
            raise InputError(f"the task does not fit: {error}", where=f"task {task.id}", fix=fix) from error
        self.state = self.initial = prepared.initial.updated(
            {EPISODE: {"main": (frozen_dict(({"seed": seed},)), False)}}
        )
        self.group = group or f"{task.id}:{prepared.digest}:{seed}"
        kept = {name: self.domain.blobs[name] for name in ("tools", "state")}
        kept = {"system": self.domain.blobs[self.prompt], **kept, "task": prepared.blob}
        if self._native:
            kept["native_system"] = self.domain.blobs[f"native_{self.prompt}"]
        self.ledger.blobs.update(kept.values())
        names: JsonObject = {"simulator": self.simulator.name, "user": None if self.user is None else self.user.name}
        if isinstance(self.domain.config.grammar, dict):
            names["grammar"] = self.domain.grammar_name
        if self.models:
            names["models"] = dict(self.models)
        if self.history is not None:
            names["history"] = self.history.name
        if getattr(self.simulator, "stateless", False):
            names["stateless"] = True  # recorded at reset, because an episode may end without any tool call
        self.ledger.append(
            "start",
            env=self.domain.name,
            version=self.domain.config.version,
            domain_hash=self.domain.hash,
            task=task.id,
            kind=task.kind,
            split=task.split,
            content={name: blob[0] for name, blob in kept.items()},
            seed=seed,
            prompt=self.prompt,
            observation_role=self.domain.grammar.observation_role,
            **({"uncounted": self.domain.uncounted} if self.domain.uncounted else {}),
            **({"scores_by": groups} if (groups := self.domain.score_groups(task)) else {}),
            **({"dev": True} if any(task.id == each.id for each in self.domain.dev_of_train) else {}),
            **names,
        )

        async def begin(part: Simulator | User, opens: bool, context: StepContext) -> Transition | None:
            part.begin(context)
            return await part.open(context) if opens else None

        self._begun = True
        try:
            first = await self._ask("simulator", partial(begin, self.simulator, self.user is None))
            if self.user is not None:
                first = await self._ask("user", partial(begin, self.user, True))
        except BaseException:
            await self.close()
            raise
        assert first is not None
        self.initial = self.state  # what the opening did belongs to the initial state
        self.ledger.append(
            "message",
            turn=0,
            speaker=first.speaker,
            text=first.observation,
            ops=first.ops or (),
            meta=first.meta,
        )
        self.ended = None
        self._unwritten = {}
        self._in_a_row = InARow()
        self._messages = [
            _message("system", self._system),
            _message("user", first.observation),
        ]
        info: JsonObject = {"task": task.id, "seed": seed, "prompt": self.prompt, "turn": 0, **names}
        self._extras = {"world": dict(first.info)} if first.info else {}
        info |= self._extras
        return Start(first.observation, tuple(map(dict, self._messages)), self.domain.tools, info)

    async def _ask(self, role: Role, ask: Callable[[StepContext], Awaitable[T]]) -> T:
        """Ask a component, and set the state if its answer is a transition; revealed rows also enter the initial state.

        Any exception that is not a `Fault` becomes one of kind ``bug``.
        """
        try:
            answer = await ask(StepContext(self.prepared, self.state, self.ledger, self.seed, self.turn, self.group))
        except (Fault, InputError):
            raise
        except (Exception, SystemExit) as error:
            raise Fault("bug", f"the {role} raised {type(error).__name__}: {error}", role=role) from error
        if isinstance(answer, Transition):
            if answer.state is not None:
                self.state = answer.state
            elif answer.ops or answer.reveals:
                try:
                    if answer.reveals:
                        self.initial = self.initial.apply(answer.reveals)
                        self.state = self.state.apply(answer.reveals)
                    self.state = self.state.apply(answer.ops or ())
                except PatchError as error:
                    role = "user" if answer.speaker == "user" else "simulator"
                    raise Fault("bad_patch", str(error), role=role) from error
            if not answer.observation.isascii():
                return cast(T, replace(answer, observation=as_text(answer.observation)))
        return answer

    async def close(self) -> None:
        """Tell the world that the episode is over, unless it knows; an episode that goes on is given up.

        `step`, `cut` and the next `reset` do so themselves. Who calls `fail`, or begins no other episode, calls this.
        """
        if not self._begun:
            return
        self._begun = False
        if self.ended is None:
            self.ended = "closed"
        context = StepContext(self.prepared, self.state, self.ledger, self.seed, self.turn, self.group)
        try:
            if self.domain.world is not None and (ending := self.domain.world.end(context)) is not None:
                await ending
        except Exception:
            logger.warning("%s: the world's end() raised an exception", self.domain.name, exc_info=True)

    async def step(self, action: PolicyAction) -> Step:
        """Take one action of the policy.

        Args:
            action: The policy's text, or an assistant message in OpenAI's layout, also as an object of its SDK.

        Returns:
            The new messages; at the end also the verdict.

        Raises:
            EpisodeOver: The episode has ended, or was never begun.
            InputError: The action is neither a text nor a message.
            InUse: The episode is in the middle of another step or reset.
        """
        if not self._in_use.acquire(blocking=False):
            raise _busy()
        try:
            if self.task is None or self.ended is not None:
                raise EpisodeOver("this episode is over; call reset() to begin another")
            try:
                action = as_action(action)
            except Fault as fault:
                step = self.fail(fault)
                await self.close()
                return step
            text, parsed = read_action(self.domain.grammar, action, self._dialect)
            more = further_fields(action)
            if self._invents is not None and self._invents(text):
                more["invented"] = True
            self._provider = more.get("provider")
            self.turn += 1
            called: Calls | None = None
            if self._as_tool:
                if isinstance(parsed, Calls):
                    called = parsed
                elif isinstance(parsed, ActionError):
                    called = refused_calls(text)
            # The calls stand in the events that answer them; text beside them is for the transcript.
            beside = "" if called is None else called.text
            self.ledger.append("action", turn=self.turn, text=text, **({"beside": beside} if beside else {}), **more)
            before = len(self._messages) + 1  # the policy's own message comes first
            info: JsonObject = {"turn": self.turn}
            try:
                ended = await self._act(text, parsed, called, info)
                info |= self._extras
                if ended is None and self.domain.limits_in_a_row:
                    ended = self.domain.end_in_a_row(*self._in_a_row.count(text, self.ledger.events))
                new = tuple(self._messages[before:])
                truncated = ended is None and self.turn >= self.max_turns
                if ended is None and not truncated:
                    return Step(_join(new), 0.0, False, False, new, None, info)
                step = await self._finish(TURN_LIMIT if ended is None else ended, truncated, new, info)
            except BaseException as error:
                step = self._broken(error, self._messages[before:], info)
            await self.close()
            return step
        finally:
            self._in_use.release()

    async def cut(self, reason: str = TOKEN_LIMIT) -> Step:
        """Truncate the episode here, as the turn limit does; the reward judges the current state and transcript.

        Args:
            reason: The limit that was reached; one of `simia_gym.record.finished_episode.LIMITS`.

        Returns:
            The last step, with the verdict and no message.

        Raises:
            EpisodeOver: The episode has ended, or was never begun.
            InputError: The reason is not one of them.
        """
        if self.task is None or self.ended is not None:
            raise EpisodeOver("this episode is over; call reset() to begin another")
        if reason not in LIMITS:
            fix = f"Give {' or '.join(LIMITS)}."
            raise InputError(f"an episode cannot be cut off by {reason!r}", where="reason", fix=fix)
        info: JsonObject = {"turn": self.turn}
        try:
            step = await self._finish(reason, True, (), info)
        except BaseException as error:
            step = self._broken(error, (), info)
        await self.close()
        return step

    def _broken(self, error: BaseException, new: Sequence[Message], info: JsonObject) -> Step:
        """End the episode because a step raised an exception; raise it again unless it is a fault or bad input."""
        if isinstance(error, InputError) and not isinstance(error, StorageError):
            error = Fault("bad_input", str(error), role="episode")
        if isinstance(error, Fault):
            return self.fail(error, new, info)
        self.ended = "interrupted"  # the step is incomplete, so the episode cannot continue
        raise error

    def fail(self, fault: Fault, new: Sequence[Message] = (), info: JsonObject | None = None) -> Step:
        """End the episode with a fault: no reward, an invalid verdict.

        Args:
            fault: What failed.
            new: Messages of the step that failed.
            info: Info of the step that failed.

        Returns:
            The last step, truncated.
        """
        fault = Fault(fault.kind, without_secrets(fault.message), role=fault.role)
        judged = any(event["type"] == "end" for event in self.ledger.events)  # then it was the judge that failed
        self.ended, self.fault = "fault", fault
        self.ledger.append("fault", role=fault.role, kind=fault.kind, message=fault.message)
        if not judged:
            self.ledger.append("end", reason="fault", turn=self.turn, truncated=True)
        return self._close(faulted(fault), True, new, info or {"turn": self.turn})

    async def _act(self, text: str, parsed: Action | ActionError, called: Calls | None, info: JsonObject) -> str | None:
        """Run an action, whose calls are answered one by one if there are any; return why the episode ends, if so."""
        config = self.domain.config
        if isinstance(parsed, Calls):
            number = len(parsed.calls)
            if number > 1 and config.parallel_tool_calls == "error":
                parsed = ActionError("parallel_calls", "Error: make one tool call at a time.")
            elif number > config.max_calls:
                parsed = ActionError("too_many_calls", f"Error: make at most {config.max_calls} calls in one action.")
            else:
                return await self._call(text, parsed, called, info)
        elif isinstance(parsed, Say):
            if self.domain.replies == "end":
                parsed = End(parsed.text)
            elif self.user is None:
                what = "Error: nobody reads messages here; act in the form that was described."
                parsed = ActionError("no_user", what)
            else:
                reply = await self._ask("user", partial(self.user.reply, parsed.text))
                self._record(reply, None, parsed.text)
                self._messages += self._said(parsed.text), _message("user", reply.observation)
                return reply.end
        if isinstance(parsed, End):
            self._messages.append(self._said(text))
            self.ledger.append("answer", turn=self.turn, text=parsed.answer)
            return "agent_end"
        shown = parsed.message if parsed.message.startswith("Error") else f"Error: {parsed.message}"
        if self.feedback == "explain" and self._example not in shown:
            shown = f"{shown.rstrip()} A valid action, for instance: {self._example}"
        info["error_code"] = parsed.code
        event: JsonObject = {"turn": self.turn, "code": parsed.code, "text": shown}
        if called is None or len(called.calls) > MOST_CALLS:
            self.ledger.append("invalid", **event)
            self._messages += self._said(text), _message("user", shown, error_code=parsed.code)
            return None
        calls = with_ids(called.calls, self.turn)
        made = [{"name": call.name, "arguments": call.arguments, "id": call.id} for call in calls]
        self.ledger.append("invalid", **event, calls=made)
        self._messages.append(calls_message(calls, called.text, self._provider))
        self._messages += [frozen_dict((message,)) for message in refusals(calls, shown, parsed.code)]
        return None

    async def _call(self, text: str, parsed: Calls, called: Calls | None, info: JsonObject) -> str | None:
        """Run the calls in order, one transition each, until one ends the episode."""
        calls = with_ids(parsed.calls, self.turn)
        if called is not None:
            self._unwritten[len(self._messages)] = calls, called.text, self._provider
        self._messages.append(self._said(text) if called is None else _EMPTY)
        for call in calls:
            made = {"name": call.name, "arguments": call.arguments, "id": call.id}
            transition = await self._ask("simulator", partial(self.simulator.call, call))
            self._record(transition, made, None)
            tool: Message = {"role": "tool", "tool_call_id": call.id, "name": call.name}
            message: Message = {"role": "user"} if called is None else tool
            message["content"] = transition.observation
            if transition.error_code is not None:
                message["error_code"] = info["error_code"] = transition.error_code
            if transition.info:
                self._extras = {"world": dict(transition.info)}
            self._messages.append(frozen_dict((message,)))
            end = transition.end or (self.domain.end_of(self.state) if transition.ops else None)
            if end is not None:
                return end
        return None

    def _said(self, text: str) -> FrozenDict:
        """The policy's message without calls."""
        message = {"role": "assistant", "content": text}
        return frozen_dict((with_provider(message, self._provider),))

    @cached_property
    def _example(self) -> str:
        """The domain's first sample action that calls a tool, as an example of the format; empty if there is none."""
        grammar = self.domain.grammar
        for sample in self.domain.samples:
            if isinstance(grammar.parse(sample), Calls):
                return sample
        return ""

    def _record(self, transition: Transition, call: JsonObject | None, say: str | None) -> None:
        self.ledger.append(
            "transition",
            turn=self.turn,
            speaker=transition.speaker,
            call=call,
            say=say,
            observation=transition.observation,
            outcome=transition.outcome,
            error_code=transition.error_code,
            ops=transition.ops,
            end=transition.end,
            meta=transition.meta or _EMPTY,
            **({"reveals": transition.reveals} if transition.reveals else {}),
        )

    async def _finish(self, ended: str, truncated: bool, new: Sequence[Message], info: JsonObject) -> Step:
        """Compute the verdict and build the last step."""
        assert self.task is not None
        self.ended = ended
        self.ledger.append("end", reason=ended, turn=self.turn, truncated=truncated)
        finished = FinishedEpisode(
            task=self.task,
            events=self.ledger.events,
            initial=self.initial,
            final=self.state,
            ended=ended,
            turns=self.turn,
            tools=self.domain.tool_entries,
            ledger=self.ledger,
            seed=self.seed,
            digest=self.prepared.digest,
            group=self.group,
            uncounted=self.domain.uncounted,
        )
        verdict = await self._ask("judge", lambda _: self.reward.score(finished))
        return self._close(verdict, truncated, new, info)

    def _close(self, verdict: Verdict, truncated: bool, new: Sequence[Message], info: JsonObject) -> Step:
        """Record the verdict, and build the last step, whose info has keys of its own."""
        self.verdict = verdict
        fields = to_json(verdict)
        self.ledger.append("verdict", **fields)
        event = self.ledger.events[-1]
        self.written = frozen_dict(({name: event[name] for name in fields},))
        closing: JsonObject = {
            "ended": self.ended,
            "verdict": verdict,
            "reward_valid": verdict.valid,
            "success": float(verdict.success),
        }
        if self.task is not None:
            closing["kind"] = self.task.kind
        if verdict.fault is not None:
            closing["fault"] = verdict.reason
        valid = verdict.valid and verdict.reward is not None
        reward = float(verdict.reward) if valid and verdict.reward is not None else 0.0
        ends = (valid and not truncated, truncated or not valid)
        return Step(_join(new), reward, *ends, tuple(new), verdict, {**info, **closing})


def _message(role: str, content: str, **more: str) -> FrozenDict:
    """A message without calls."""
    return frozen_dict(({"role": role, "content": content, **more},))


def calls_message(calls: Sequence[ToolCall], beside: str, provider: JsonObject | None = None) -> FrozenDict:
    """The policy's calls, which have ids, in the OpenAI layout."""
    return FrozenDict(with_provider(call_message(*calls, content=beside, as_text=True), provider))


def _busy() -> InUse:
    """The error of a second step or reset at the same time, whose events would get between those of the first."""
    fix = "give every thread, or task of an event loop, an environment of its own"
    return InUse(f"this environment is in the middle of another step or reset: {fix}")


def _join(messages: Sequence[Message]) -> str:
    return messages[0]["content"] if len(messages) == 1 else "\n\n".join(m["content"] for m in messages)
