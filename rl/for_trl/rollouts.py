"""TRL's ``rollout_func``: whole episodes, token in and token out.

Give the trainer ``rollout_func=episodes_rollout(...)``, its ``dataset()`` to train on, and `episode_reward`.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import weakref
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

from simia_gym.assembly.suite import Suite
from simia_gym.common.event_loop import new_loop, run_sync
from simia_gym.errors import InputError
from simia_gym.policies.base import Thinking
from simia_gym.rl.chat.play import Limits, Played, play
from simia_gym.rl.chat.thinking import choose_thinking, template_arguments
from simia_gym.rl.chat.tokens import ChatTokens, Conversation
from simia_gym.rl.for_trl.batch_check import BatchCheck
from simia_gym.rl.for_trl.engines import engine_of
from simia_gym.rl.for_trl.rows import EpisodeRows, EpisodeStart, Source
from simia_gym.rl.generation.loading import longest
from simia_gym.rl.small.card import Card, read_card
from simia_gym.types import JsonObject, Task

logger = logging.getLogger("simia_gym")

MAX_PROMPT_LENGTH = 4096


class EpisodesRollout(EpisodeRows):
    """An environment, or several, as TRL's ``rollout_func``, which plays the episodes of a batch.

    The completion of an episode is everything after its prompt, the environment's messages included; ``env_mask`` is 1
    for the tokens that the policy sampled. An episode with a fault has no such token and no reward.

    The method ``dataset()`` makes the dataset to train on. Its prompts only name the task: the policy reads only the
    messages of the episode.

    Args:
        *sources: Ids of environments, or loaded `Suite`s; several are trained together.
        max_prompt_length: Maximum tokens of a prompt. A longer one ends the training; it is not truncated.
        turn_tokens: Maximum tokens of one turn of the policy; ``None``: what is left of ``max_completion_length``.
        slots: Maximum number of episodes whose turns the model samples at the same time.
        thinking: ``never`` or ``keep``; by default as the policy was trained, else ``keep``.
        **settings: As for ``gymnasium.make``: ``prompt``, ``split``, ``generated``, ``simulator``, ``model``, ...

    Raises:
        InputError: A setting is wrong.
    """

    def __init__(
        self,
        *sources: Source,
        max_prompt_length: int = MAX_PROMPT_LENGTH,
        turn_tokens: int | None = None,
        slots: int = 64,
        thinking: Thinking | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(sources, settings)
        # Check the numbers now and not in the first batch.
        Limits(response=1, prompt=max_prompt_length, turn=turn_tokens)
        self._prompt_tokens, self._turn_tokens = max_prompt_length, turn_tokens
        if slots < 1:
            raise InputError(f"slots is {slots}", where="slots", fix="Give at least 1.")
        if thinking not in (None, "never", "keep"):
            raise InputError(f"thinking is {thinking!r}", where="thinking", fix="Give 'never' or 'keep'.")
        self._slots, self._thinking = slots, thinking
        self._check = BatchCheck()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """Play one episode for each prompt.

        Args:
            prompts: Prompts of `dataset`, each repeated for all episodes of its group.
            trainer: The `GRPOTrainer`.

        Returns:
            ``prompt_ids``, ``completion_ids``, ``logprobs`` and ``env_mask``; for reward functions also ``reward``
            (``None`` if there is none), ``valid``, ``success``, ``fault`` (its kind), ``turns``, ``ended``, ``env``,
            ``task`` and ``kind``. Each holds one value for each prompt.

        Raises:
            InputError: A prompt is not from `dataset`, or too long.
            RuntimeError: Sampling failed in all episodes; or three batches in a row had no group with two valid
                episodes.
        """
        begins = [self.find_in_prompt(prompt) for prompt in prompts]
        played = self._run(self._play_all(begins, trainer))
        for begin, one in zip(begins, played, strict=True):
            if one.fault is not None:
                logger.warning("%s, task %s: %s", begin.env, one.task, one.fault.message)
                if one.fault.kind == "prompt_too_long":
                    fix = "Raise max_prompt_length, or use prompt='compact'."
                    raise InputError(one.fault.message, where=f"task {one.task}", fix=fix)
        self._check.check([begin.text for begin in begins], played, trainer)
        spare = self._tokens(trainer)
        rows = [_row(one, begin, spare, prompt) for one, begin, prompt in zip(played, begins, prompts, strict=True)]
        return {name: [row[name] for row in rows] for name in rows[0]}

    async def _play_all(self, begins: Sequence[EpisodeStart], trainer: Any) -> list[Played]:
        tokens = self._tokens(trainer)
        response, context = trainer.max_completion_length, longest(trainer.model)
        total = min(self._prompt_tokens + response, context)
        limits = Limits(response, prompt=min(self._prompt_tokens, context - 1), total=total, turn=self._turn_tokens)
        end_ids = [item for item in {*trainer.eos_token_ids, tokens.end_id} if item is not None]
        # In evaluation the same row always gives the same world; in training it differs from step to step.
        round_ = trainer.state.global_step if trainer.model.training else None
        with engine_of(trainer, episodes=len(begins), end_ids=end_ids, max_length=total, slots=self._slots) as engine:

            async def play_one(number: int, begin: EpisodeStart) -> Played:
                try:
                    return await play(
                        self.suites[begin.env].episode(),
                        begin.task,
                        seed=begin.seed,
                        group=begin.group(round_),
                        begin=partial(Conversation, tokens.tokenizer, thinking=tokens.thinking),
                        sample=partial(engine.sample, f"{begin.text}/{number}"),
                        limits=limits,
                    )
                finally:
                    engine.ended()

            played = await asyncio.gather(*itertools.starmap(play_one, enumerate(begins)))
            engine.finish()
        return played

    def _prompt(self, suite: Suite, task: Task) -> list[JsonObject]:
        return [{"role": "user", "content": f"{suite.config.env}: {task.id}"}]

    def _tokens(self, trainer: Any) -> ChatTokens:
        """The trainer's tokenizer and chat template.

        Raises:
            InputError: The policy was trained with other thinking than is asked for, or TRL's own setting differs.
        """
        tokenizer = trainer.processing_class
        card = read_card(tokenizer.name_or_path) or Card()
        asked, off = self._thinking, template_arguments("never").items() <= trainer.chat_template_kwargs.items()
        if off and asked == "keep":
            what = f"thinking is 'keep', and chat_template_kwargs of GRPOConfig is {trainer.chat_template_kwargs}"
            raise InputError(what, where="thinking", fix="Leave one of them out.")
        asked = "never" if off else asked
        return ChatTokens.of(tokenizer, choose_thinking(asked, card.thinking, policy=tokenizer.name_or_path))

    def _run(self, work: Coroutine[Any, Any, list[Played]]) -> list[Played]:
        """Run on this thread, where the trainer is; in a notebook, whose loop is running, on the background loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            if self._loop is None:
                self._loop = new_loop()
                weakref.finalize(self, self._loop.close)
            return self._loop.run_until_complete(work)
        return run_sync(work, inline=False)


episodes_rollout = EpisodesRollout


def _row(played: Played, begin: EpisodeStart, tokens: ChatTokens, prompt: Any) -> JsonObject:
    """The columns of an episode for TRL, which needs at least one token in every prompt and completion."""
    blank = tokens.end_id if tokens.end_id is not None else tokens.tokenizer.eos_token_id
    return {
        "prompt_ids": played.prompt_ids or tokens.prompt(prompt),
        "completion_ids": played.response_ids or [blank],
        "logprobs": played.response_logprobs or [0.0],
        "env_mask": played.response_mask or [0],
        "reward": played.reward,
        "valid": played.valid,
        "success": played.success,
        "fault": None if played.fault is None else played.fault.kind,
        "turns": played.turns,
        "ended": played.ended,
        "env": begin.env,
        "task": played.task,
        "kind": played.kind,
    }
