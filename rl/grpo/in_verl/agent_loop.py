"""verl's agent loop that plays one episode of an environment.

verl creates one object for each episode and calls `run` on its event loop. `simia_gym.rl.chat.play` plays the turns;
this module connects it to verl: the inference engine, and the tokens, which verl's own builders put together, so that
masks and log-probabilities are exact for every model family that verl supports.
"""

from __future__ import annotations

import hashlib
import logging
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import uuid4

import ray
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopOutput

from simia_gym.common.json_encoding import encode
from simia_gym.errors import SimiaError
from simia_gym.evaluation.health import signs_of
from simia_gym.rl.chat.play import Limits, Played, Turn, play
from simia_gym.rl.grpo.dataset import Row
from simia_gym.rl.grpo.in_verl.worlds import Worlds, worlds_of
from simia_gym.rl.grpo.run.episodes import EpisodeLine, models_used, training_job
from simia_gym.rollout.jobs import world_group
from simia_gym.types import FaultInfo, Message

logger = logging.getLogger("simia_gym")

_END = "<|im_end|>"
_NOTHING = float("nan")


class EpisodeLoop(AgentLoopBase):
    """Plays one episode of a row of the dataset.

    Args:
        args: verl's arguments.
        settings: The JSON text of `simia_gym.rl.grpo.in_verl.worlds.RunSettings`.
        kwargs: verl's arguments.
    """

    def __init__(self, *args: Any, settings: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.worlds: Worlds = worlds_of(settings, worker_number())
        tokens = self.tokenizer
        end = tokens.convert_tokens_to_ids(_END)
        known = end is not None and end != tokens.unk_token_id
        self.end_ids: list[int] = sorted({tokens.eos_token_id, *([end] if known else [])} - {None})

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """Play the episode of a row.

        Every failure becomes a fault of this episode, never an exception, for which verl would drop the whole group.

        Args:
            sampling_params: verl's sampling settings.
            kwargs: The row's columns; ``uid``, ``session_id`` and ``global_steps`` of verl.

        Returns:
            The tokens with mask and log-probabilities, and the reward. After a fault the reward is NaN and the mask is
            0 everywhere.
        """
        began = time.monotonic()
        step, sample = int(kwargs.get("global_steps", 0)), int(kwargs.get("session_id", 0))
        row, group, signs = Row.of(kwargs["extra_info"]), "", dict[str, int]()
        engine, rollout = _Engine(self, sampling_params), self.rollout_config
        try:
            suite = self.worlds.suite(row.config)
            plan, job = training_job(
                suite, row.task, seed=row.seed, purpose=row.purpose, step=step, index=row.index, sample=sample
            )
            group = world_group(plan.seed, job.group)
            engine.origin = (group, sample)
            episode = suite.episode()
        except SimiaError as error:
            played = Played(
                task=row.task.id, kind=row.task.kind, fault=FaultInfo("episode", "bad_environment", str(error))
            )
        else:
            played = await play(
                episode,
                job.task,
                seed=job.seed,
                group=group,
                begin=self._begin,
                sample=engine.sample,
                limits=Limits(
                    response=rollout.response_length,
                    prompt=rollout.prompt_length,
                    total=rollout.get("max_model_len") or None,
                    turn=self.worlds.settings.turn_tokens,
                ),
                timeout=self.worlds.settings.timeout,
            )
            if played.trace is not None:
                logger.warning("%s, %s: %s", row.env, row.task.id, played.trace)
            signs = signs_of(episode.ledger.events, ended=played.ended, valid=played.valid, success=played.success)
            self.worlds.log.record(row.env, plan, job, episode)
        line = _line(played, row, step, sample, str(kwargs.get("uid", "")), group, began)
        self.worlds.log.write(replace(line, health=signs))
        return self._output(played, engine, step, time.monotonic() - began)

    def _cap_text_prompt_length(self, prompt_ids: list[int]) -> list[int]:
        """Leave the prompt whole, where verl would cut its beginning off; `play` makes a fault of one too long."""
        return prompt_ids

    async def _begin(self, messages: Sequence[Message]) -> _Tokens:
        return _Tokens(self, list(messages), await self.ct_build_initial_tokens(list(messages)))

    def _output(self, played: Played, engine: _Engine, step: int, seconds: float) -> AgentLoopOutput:
        tokenizer = self.tokenizer
        fill = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
        prompt, response, mask = played.prompt_ids, played.response_ids, played.response_mask
        logprobs = played.response_logprobs
        if not any(mask):  # verl needs at least one token, also a masked one
            prompt = prompt if 0 < len(prompt) <= self.rollout_config.prompt_length else [fill]
            response, mask, logprobs = response[:1] or [fill], [0], [0.0]
        # The versions of the weights; for an episode without a turn, those that it would have been played with.
        first, last = engine.steps or (max(0, step - 1), max(0, step - 1))
        facts: dict[str, float | None] = {
            "valid": float(played.valid),
            "success": float(played.success) if played.valid else None,
            "turns": float(played.turns),
        }
        return AgentLoopOutput(
            prompt_ids=prompt,
            response_ids=response,
            response_mask=mask,
            response_logprobs=logprobs if engine.wants_logprobs else None,
            reward_score=_NOTHING if played.reward is None else played.reward,
            num_turns=played.messages,
            metrics={
                "generate_sequences": engine.seconds,
                "tool_calls": max(0.0, seconds - engine.seconds),
                "num_preempted": engine.preempted,
            },
            extra_fields={
                "min_global_steps": first,
                "max_global_steps": last,
                "turn_scores": [],
                "tool_rewards": [],
                "reward_extra_info": facts,
            },
        )


class _Engine:
    """Samples the turns of one episode with verl's client of its inference engines."""

    def __init__(self, loop: EpisodeLoop, sampling: Mapping[str, Any]) -> None:
        self._loop, self._sampling, self._request = loop, sampling, uuid4().hex
        self.wants_logprobs = bool(sampling.get("logprobs"))
        rollout = loop.rollout_config
        # vLLM samples requests with seeds one by one; they only help if the engine computes deterministically too.
        self._seeded = rollout.name == "hf_server" or bool(rollout.get("full_determinism"))
        # Group and sample, from which the seeds of the turns are derived: verl's request ids differ from run to run.
        self.origin = ("", 0)
        self.seconds, self.preempted = 0.0, -1
        self.steps: tuple[int, int] | None = None

    async def sample(self, ids: list[int], most: int) -> Turn:
        """Sample one turn."""
        ends = self._loop.end_ids
        params = {**self._sampling, "max_tokens": most, "stop_token_ids": ends}
        if self._seeded:
            digest = hashlib.sha256(encode(["turn", *self.origin, len(ids)])).digest()
            params["seed"] = int.from_bytes(digest[:4], "big") >> 1
        began = time.monotonic()
        try:
            out = await self._loop.server_manager.generate(
                request_id=self._request,
                prompt_ids=ids,
                sampling_params=params,
            )
        finally:
            self.seconds += time.monotonic() - began
        self._note(out)
        tokens = list(out.token_ids)
        stop = "length" if len(tokens) >= most and tokens[-1] not in ends else "stop"
        if out.stop_reason in ("abort", "aborted"):
            stop = "aborted"
        given = out.log_probs if self.wants_logprobs else None
        return Turn(tokens, None if given is None else [float(item) for item in given], stop)

    def _note(self, out: Any) -> None:
        if out.num_preempted is not None:
            self.preempted = max(0, self.preempted) + out.num_preempted
        facts = out.extra_fields
        first, last = (facts.get(name, facts.get("global_steps")) for name in ("min_global_steps", "max_global_steps"))
        if first is not None and last is not None:
            self.steps = (first if self.steps is None else self.steps[0], last)


class _Tokens:
    """The tokens of one episode, put together by verl's builder for the model family."""

    def __init__(self, loop: EpisodeLoop, messages: list[Message], prompt: list[int]) -> None:
        self._loop, self._messages = loop, messages
        self.ids, self.prompt_length = prompt, len(prompt)
        self.mask, self.logprobs = [0] * len(prompt), [0.0] * len(prompt)

    async def said(self, token_ids: Sequence[int], logprobs: Sequence[float] | None, /) -> str:
        """Append a sampled turn and return its text."""
        tokens = list(token_ids)
        given = [0.0] * len(tokens) if logprobs is None else list(logprobs)
        merged, self.mask, self.logprobs = await self._loop.ct_merge_assistant_token(
            self.ids, tokens, self.mask, self.logprobs, assistant_logprobs=given
        )
        self.ids = merged.token_ids
        while tokens and tokens[-1] in self._loop.end_ids:
            tokens.pop()
        text = str(self._loop.tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False))
        self._messages.append({"role": "assistant", "content": text})
        return text

    async def heard(self, messages: Sequence[Message], /) -> None:
        """Append messages of the environment."""
        after = [*self._messages, *messages]
        merged, self.mask, self.logprobs = await self._loop.ct_merge_context_msg(
            self._messages, after, self.ids, self.mask, self.logprobs
        )
        self.ids, self._messages = merged.token_ids, after


def worker_number() -> int:
    """Index of this process among verl's agent loop workers; 0 if it is none of them."""
    name = ray.get_runtime_context().get_actor_name() if ray.is_initialized() else None
    found = re.match(r"agent_loop_worker_(\d+)", name or "")
    return int(found.group(1)) if found else 0


def _line(played: Played, row: Row, step: int, sample: int, uid: str, group: str, began: float) -> EpisodeLine:
    return EpisodeLine(
        step=step,
        purpose=row.purpose,
        uid=uid,
        group=group,
        sample=sample,
        env=row.env,
        prompt=row.prompt,
        task=played.task,
        kind=played.kind,
        reward=played.reward,
        valid=played.valid,
        success=played.success,
        fault=None if played.fault is None else asdict(played.fault),
        turns=played.turns,
        tokens=played.tokens,
        length=len(played.response_ids),
        prompt_tokens=len(played.prompt_ids),
        ended=played.ended,
        seconds=round(time.monotonic() - began, 3),
        models=models_used(),
        split=row.split,
    )
