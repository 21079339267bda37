"""The episode: the async state machine behind the Gymnasium environments, rollouts and trainers.

`reset` begins an episode. `step` takes one action of the policy: the domain's grammar parses the text, which goes
either to the user or to the tools, never to both. Each answer is a transition with JSON Patch operations on the state,
and each event is appended to the ledger. If no component does I/O (`inline`), both coroutines finish without
suspending, so that synchronous callers need no event loop.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from simia_gym.actions.reading import read_action
from simia_gym.common.secrets import without_secrets
from simia_gym.contracts import Simulator, StepContext, User
from simia_gym.domain.domain import Domain
from simia_gym.errors import ActionError, EpisodeOver, Fault, InputError, PatchError, Role
from simia_gym.record.finished_episode import LIMITS, TOKEN_LIMIT, TURN_LIMIT, FinishedEpisode, Reward
from simia_gym.record.ledger import Ledger
from simia_gym.record.verdict import faulted, to_json
from simia_gym.state import FrozenDict, State
from simia_gym.state.frozen import frozen_dict, frozen_list
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

T = TypeVar("T")

_write_arguments = json.JSONEncoder(ensure_ascii=False).encode


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

    Attributes:
        ledger: The events of the episode so far.
        state: The current state.
        verdict: The verdict once the episode has ended, else ``None``.
        written: The verdict as JSON values, as written to the record.
        fault: The fault that ended the episode, if one did.
        inline: Whether `reset` and `step` never wait for I/O.
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
    ) -> None:
        self.domain, self.simulator, self.user, self.reward = domain, simulator, user, reward
        self.prompt, self.feedback, self.models = prompt, feedback, dict(models or {})
        self.max_turns = max_turns or domain.config.max_turns
        self.inline = not (simulator.io or (user is not None and user.io) or reward.io)
        self._messages: list[FrozenDict] = []
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
        not be copied each turn.
        """
        return [*self._messages]

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
        """
        self.task, self.seed, self.turn = task, seed, 0
        self.ended, self.verdict, self.written, self.fault = "reset", None, None, None
        self.ledger = Ledger()
        try:
            self.prepared = prepared = self.domain.prepare(task)
        except PatchError as error:
            fix = "Mend its setup operations."
            raise InputError(f"the task does not fit: {error}", where=f"task {task.id}", fix=fix) from error
        self.state = self.initial = prepared.initial
        self.group = group or f"{task.id}:{prepared.digest}:{seed}"
        names: JsonObject = {"simulator": self.simulator.name, "user": None if self.user is None else self.user.name}
        if self.models:
            names["models"] = dict(self.models)
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
            task_hash=prepared.digest,
            seed=seed,
            prompt=self.prompt,
            **names,
        )
        context = self._context(task)
        self._prepare(context)
        if self.user is None:
            first = await self._part("simulator", self.simulator.open(context))
        else:
            first = await self._part("user", self.user.open(context))
        self._commit(first)
        self.ledger.append(
            "message",
            turn=0,
            speaker=first.speaker,
            text=first.observation,
            ops=first.ops or (),
            meta=first.meta,
        )
        self.ended = None
        self._messages = [
            _message("system", self.domain.prompts[self.prompt]),
            _message("user", first.observation),
        ]
        info: JsonObject = {"task": task.id, "seed": seed, "prompt": self.prompt, "turn": 0, **names}
        if first.info:
            info["world"] = dict(first.info)
        return Start(first.observation, tuple(map(dict, self._messages)), self.domain.tools, info)

    def _prepare(self, context: StepContext) -> None:
        """Call `begin` of the simulator and of the user."""
        role: Role = "simulator"
        try:
            self.simulator.begin(context)
            if self.user is not None:
                role = "user"
                self.user.begin(context)
        except (Fault, InputError):
            raise
        except Exception as error:
            raise Fault("bug", f"the {role} raised {type(error).__name__}: {error}", role=role) from error

    async def _part(self, role: Role, work: Awaitable[T]) -> T:
        """Await the work of a component; any exception of its that is not a `Fault` becomes one of kind ``bug``."""
        try:
            return await work
        except (Fault, InputError):
            raise
        except Exception as error:
            raise Fault("bug", f"the {role} raised {type(error).__name__}: {error}", role=role) from error

    async def step(self, action: PolicyAction) -> Step:
        """Take one action of the policy.

        Args:
            action: The policy's text, or an assistant message in OpenAI's layout.

        Returns:
            The new messages; at the end also the verdict.

        Raises:
            EpisodeOver: The episode has ended, or was never begun.
            InputError: The action is neither a text nor a message.
        """
        if self.task is None or self.ended is not None:
            raise EpisodeOver("this episode is over; call reset() to begin another")
        text, parsed = read_action(self.domain.grammar, action)
        self.turn += 1
        self.ledger.add("action", {"turn": self.turn, "text": text})
        before = len(self._messages) + 1  # the policy's own message comes first
        info: JsonObject = {"turn": self.turn}
        try:
            ended = await self._act(text, parsed, self.task, info)
            new = tuple(self._messages[before:])
            truncated = ended is None and self.turn >= self.max_turns
            if ended is None and not truncated:
                return Step(_join(new), 0.0, False, False, new, None, info)
            return await self._finish(self.task, TURN_LIMIT if ended is None else ended, truncated, new, info)
        except Fault as fault:
            return self.fail(fault, self._messages[before:], info)
        except InputError as error:
            return self.fail(Fault("bad_input", str(error), role="episode"), self._messages[before:], info)
        except BaseException:
            self.ended = "interrupted"  # the step is incomplete, so the episode cannot continue
            raise

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
            return await self._finish(self.task, reason, True, (), info)
        except Fault as fault:
            return self.fail(fault, (), info)
        except InputError as error:
            return self.fail(Fault("bad_input", str(error), role="episode"), (), info)
        except BaseException:
            self.ended = "interrupted"
            raise

    def _judged(self, verdict: Verdict) -> None:
        """Set the verdict and append it to the ledger."""
        fields = to_json(verdict)
        event = self.ledger.events[self.ledger.add("verdict", fields)]
        self.written = frozen_dict(({name: event[name] for name in fields},))

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
        self.ended, self.fault, self.verdict = "fault", fault, faulted(fault)
        self.ledger.append("fault", role=fault.role, kind=fault.kind, message=fault.message)
        if not judged:
            self.ledger.append("end", reason="fault", turn=self.turn, truncated=True)
        self._judged(self.verdict)
        out = dict(info or {"turn": self.turn})
        out.update(self._closing(self.verdict, "fault"))
        return Step(_join(new), 0.0, False, True, tuple(new), self.verdict, out)

    async def _act(self, action: str, parsed: Action | ActionError, task: Task, info: JsonObject) -> str | None:
        """Run an action; return why the episode ends, or ``None``."""
        parsed = self._allowed(parsed)
        if isinstance(parsed, ActionError):
            text = parsed.message if parsed.message.startswith("Error") else f"Error: {parsed.message}"
            if self.feedback == "explain" and self._example not in text:
                text = f"{text.rstrip()} A valid action, for instance: {self._example}"
            self.ledger.append("invalid", turn=self.turn, code=parsed.code, text=text)
            self._messages.append(_message("assistant", action))
            self._messages.append(_message("user", text, error_code=parsed.code))
            info["error_code"] = parsed.code
            return None
        if isinstance(parsed, Say):
            return await self._say(parsed.text, task)
        if isinstance(parsed, End):
            self._messages.append(_message("assistant", action))
            self.ledger.append("answer", turn=self.turn, text=parsed.answer)
            return "agent_end"
        return await self._call(action, parsed, task, info)

    def _allowed(self, action: Action | ActionError) -> Action | ActionError:
        """The action, or an error if this domain does not allow it although the grammar can parse it."""
        config = self.domain.config
        if isinstance(action, Say) and self.domain.replies == "end":
            return End(action.text)
        if isinstance(action, Say) and self.user is None:
            return ActionError("no_user", "Error: nobody reads messages here; act in the form that was described.")
        if isinstance(action, Calls) and len(action.calls) > 1:
            if config.parallel_tool_calls == "error":
                return ActionError("parallel_calls", "Error: make one tool call at a time.")
            if len(action.calls) > config.max_calls:
                return ActionError("too_many_calls", f"Error: make at most {config.max_calls} calls in one action.")
        return action

    async def _say(self, text: str, task: Task) -> str | None:
        """Deliver a message to the user."""
        assert self.user is not None
        reply = await self._part("user", self.user.reply(text, self._context(task)))
        self._commit(reply)
        self._record(reply, call=None, say=text)
        self._messages.append(_message("assistant", text))
        self._messages.append(_message("user", reply.observation))
        return reply.end

    async def _call(self, action: str, parsed: Calls, task: Task, info: JsonObject) -> str | None:
        """Run the calls in order, one transition each, until one ends the episode."""
        calls = [
            call if call.id else ToolCall(call.name, call.arguments, f"call_{self.turn}_{number}")
            for number, call in enumerate(parsed.calls)
        ]
        as_tool = self.domain.grammar.observation_role == "tool"
        self._messages.append(_assistant(parsed.text, calls) if as_tool else _message("assistant", action))
        for call in calls:
            transition = await self._part("simulator", self.simulator.call(call, self._context(task)))
            self._commit(transition)
            self._record(transition, call=call, say=None)
            message: Message = {"role": "user"}
            if as_tool:
                message = {"role": "tool", "tool_call_id": call.id, "name": call.name}
            message["content"] = transition.observation
            if transition.error_code is not None:
                message["error_code"] = info["error_code"] = transition.error_code
            if transition.info:
                info["world"] = dict(transition.info)
            self._messages.append(frozen_dict((message,)))
            end = transition.end or (self.domain.end_of(self.state) if transition.ops else None)
            if end is not None:
                return end
        return None

    @cached_property
    def _example(self) -> str:
        """The domain's first sample action that calls a tool, as an example of the format; empty if there is none."""
        grammar = self.domain.grammar
        for sample in self.domain.config.samples:
            if isinstance(grammar.parse(sample), Calls):
                return sample
        return ""

    def _context(self, task: Task) -> StepContext:
        return StepContext(self.prepared, self.state, self.ledger, self.seed, self.turn, self.group)

    def _commit(self, transition: Transition) -> None:
        """Set the new state, computing it if the transition has none; revealed rows also enter the initial state."""
        if transition.state is not None:
            self.state = transition.state
        elif transition.ops or transition.reveals:
            try:
                if transition.reveals:
                    self.initial = self.initial.apply(transition.reveals)
                    self.state = self.state.apply(transition.reveals)
                if transition.ops:
                    self.state = self.state.apply(transition.ops)
            except PatchError as error:
                role: Role = "user" if transition.speaker == "user" else "simulator"
                raise Fault("bad_patch", str(error), role=role) from error

    def _record(self, transition: Transition, *, call: ToolCall | None, say: str | None) -> None:
        fields: JsonObject = {
            "turn": self.turn,
            "speaker": transition.speaker,
            "call": None if call is None else {"name": call.name, "arguments": call.arguments, "id": call.id},
            "say": say,
            "observation": transition.observation,
            "outcome": transition.outcome,
            "error_code": transition.error_code,
            "ops": transition.ops,
            "end": transition.end,
            "meta": transition.meta,
        }
        if transition.reveals:
            fields["reveals"] = transition.reveals
        self.ledger.add("transition", fields)

    async def _finish(
        self, task: Task, ended: str, truncated: bool, new: tuple[Message, ...], info: JsonObject
    ) -> Step:
        """Compute the verdict and build the last step."""
        self.ended = ended
        self.ledger.append("end", reason=ended, turn=self.turn, truncated=truncated)
        finished = FinishedEpisode(
            task=task,
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
        )
        self.verdict = verdict = await self._part("judge", self.reward.score(finished))
        self._judged(verdict)
        info.update(self._closing(verdict, ended))
        valid = verdict.valid and verdict.reward is not None
        reward = float(verdict.reward) if valid and verdict.reward is not None else 0.0
        return Step(_join(new), reward, valid and not truncated, truncated or not valid, new, verdict, info)

    def _closing(self, verdict: Verdict, ended: str) -> JsonObject:
        """The keys that only the last step's info has."""
        out: JsonObject = {
            "ended": ended,
            "verdict": verdict,
            "reward_valid": verdict.valid,
            "success": float(verdict.success),
        }
        if self.task is not None:
            out["kind"] = self.task.kind
        if verdict.fault is not None:
            out["fault"] = str(self.fault) if self.fault is not None else verdict.reason
        return out


def _message(role: str, content: str, **more: str) -> FrozenDict:
    """A message without calls."""
    return frozen_dict(({"role": role, "content": content, **more},))


def _assistant(text: str, calls: Sequence[ToolCall]) -> FrozenDict:
    """The policy's turn in the OpenAI layout."""
    made: list[FrozenDict] = []
    for call in calls:
        function = frozen_dict(({"name": call.name, "arguments": _write_arguments(call.arguments)},))
        made.append(frozen_dict(({"id": call.id, "type": "function", "function": function},)))
    return frozen_dict(({"role": "assistant", "content": text, "tool_calls": frozen_list(made)},))


def _join(messages: Sequence[Message]) -> str:
    return messages[0]["content"] if len(messages) == 1 else "\n\n".join(m["content"] for m in messages)
