"""Inference engines for TRL trainers: the trained model itself, or the trainer's vLLM.

Both use the trainer's sampling settings. Settings that the trainer ignores when it computes log-probabilities
(``min_p``, ``repetition_penalty``) are refused when the model itself samples.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from simia_gym.errors import InputError
from simia_gym.rl.chat.play import Turn


class ModelEngine:
    """Samples from the trained model, with continuous batching and a KV cache across turns."""

    def __init__(self, generator: Any, trainer: Any) -> None:
        self._generator, self._trainer = generator, trainer

    async def sample(self, episode: str, ids: list[int], most: int) -> Turn:
        """Sample one turn, batched with the current turns of other episodes."""
        from simia_gym.rl.generation.sampling import Sampling

        trainer = self._trainer
        settings = Sampling(
            temperature=trainer.temperature,
            top_p=1.0 if trainer.top_p is None else trainer.top_p,
            top_k=max(0, trainer.top_k or 0),
            max_tokens=most,
        )
        turn: Turn = await self._generator.generate(episode, ids, settings)
        return turn

    def ended(self) -> None:
        """Nothing to do: turns are sampled independently."""

    def finish(self) -> None:
        """Nothing to do: processes sample independently."""


class VllmEngine:
    """Samples with the trainer's vLLM, whose client takes whole batches: one call for all waiting episodes.

    A call is made when every unfinished episode of this process waits for a turn. The client gathers prompts over all
    processes, so each process joins every call until all processes have finished, with the same number of prompts.
    """

    def __init__(self, trainer: Any, episodes: int, end_ids: Sequence[int]) -> None:
        self._vllm, self._accelerator = trainer.vllm_generation, trainer.accelerator
        self._left, self._ends = episodes, frozenset(end_ids)
        self._waiting: list[tuple[list[int], int, asyncio.Future[Turn]]] = []

    async def sample(self, episode: str, ids: list[int], most: int) -> Turn:
        """Wait until all other episodes wait too, and sample all turns in one call."""
        turn: asyncio.Future[Turn] = asyncio.get_running_loop().create_future()
        self._waiting.append((ids, most, turn))
        self._go_on()
        return await turn

    def ended(self) -> None:
        """Stop waiting for one of the episodes."""
        self._left -= 1
        self._go_on()

    def finish(self) -> None:
        """Join the calls of other processes until they have finished, too."""
        while self._accelerator.num_processes > 1 and self._round():
            pass

    def _go_on(self) -> None:
        if self._waiting and len(self._waiting) == self._left:
            self._round()

    def _round(self) -> bool:
        """Sample a turn for each waiting episode; return whether an episode waited, in any process.

        An exception of the client is raised in every waiting episode.
        """
        waiting, self._waiting = self._waiting, []
        count, most = self._agree(len(waiting), max((room for _, room, _ in waiting), default=0))
        if count == 0:
            return False
        filler = waiting[0][0] if waiting else [min(self._ends)]
        prompts = [ids for ids, _, _ in waiting] + [filler] * (count - len(waiting))
        before = self._vllm.max_completion_length
        self._vllm.max_completion_length = min(before, most)
        try:
            _, sampled, logprobs, _ = self._vllm.generate(prompts=prompts, images=None, num_generations=1)
            turns = [self._turn(sampled[place], logprobs[place], room) for place, (_, room, _) in enumerate(waiting)]
        except Exception as error:
            if not waiting:
                raise
            for _, _, future in waiting:
                future.set_exception(error)
            return True
        finally:
            self._vllm.max_completion_length = before
        for (_, _, future), turn in zip(waiting, turns, strict=True):
            future.set_result(turn)
        return True

    def _turn(self, sampled: Sequence[int], logprobs: Sequence[Sequence[float | None]], room: int) -> Turn:
        ids = list(sampled[:room])
        kept = [float("nan") if one[0] is None else float(one[0]) for one in logprobs[: len(ids)]]
        return Turn(ids, kept, "stop" if ids and ids[-1] in self._ends else "length")

    def _agree(self, count: int, most: int) -> tuple[int, int]:
        """The maximum of each number over all processes."""
        if self._accelerator.num_processes == 1:
            return count, most
        import torch

        mine = torch.tensor([[count, most]], device=self._accelerator.device)
        greatest = self._accelerator.gather(mine).max(dim=0).values.tolist()
        return int(greatest[0]), int(greatest[1])


@contextmanager
def engine_of(
    trainer: Any, *, episodes: int, end_ids: Sequence[int], max_length: int, slots: int
) -> Iterator[ModelEngine | VllmEngine]:
    """The engine for one batch of so many episodes in this process, of at most ``max_length`` tokens each.

    Raises:
        InputError: A sampling setting is not supported when the model itself samples, or the model is sharded.
    """
    if trainer.use_vllm:
        yield VllmEngine(trainer, episodes, end_ids)
        return
    _check(trainer)
    from simia_gym.rl.generation.generator import Generator

    slots = max(1, min(slots, episodes))
    # The seed differs between batches and processes, and is the same in a repeated training.
    name = f"{trainer.args.seed}/{trainer.state.global_step}/{trainer.accelerator.process_index}"
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big")
    with (
        _model(trainer) as model,
        Generator(model, end_ids=end_ids, max_length=max_length, slots=slots, seed=seed) as generator,
    ):
        yield ModelEngine(generator, trainer)


def _check(trainer: Any) -> None:
    fix = "Leave it at its default, or use vLLM."
    if trainer.min_p:
        raise InputError(f"min_p is {trainer.min_p}", where="GRPOConfig", fix=fix)
    if trainer.repetition_penalty not in (None, 1.0):
        raise InputError(f"repetition_penalty is {trainer.repetition_penalty}", where="GRPOConfig", fix=fix)
    adapter = getattr(trainer.model, "active_peft_config", None)
    if adapter is not None and adapter.is_prompt_learning:
        what = f"the adapter {adapter.peft_type.value} puts tokens of its own before every prompt"
        raise InputError(what, where="peft_config", fix="Use one that changes weights, such as LoRA, or use vLLM.")
    if getattr(trainer, "is_fsdp_enabled", False):
        raise InputError("the model is sharded with FSDP", where="training", fix="Use vLLM: GRPOConfig(use_vllm=True).")


@contextmanager
def _model(trainer: Any) -> Iterator[Any]:
    """The model to sample from, in evaluation mode and without the trainer's wrappers."""
    from trl.models import unwrap_model_for_generation

    with unwrap_model_for_generation(
        trainer.model_wrapped,
        trainer.accelerator,
        gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
        gradient_checkpointing_kwargs=trainer.args.gradient_checkpointing_kwargs,
    ) as model:
        training = model.training
        model.eval()
        try:
            yield model
        finally:
            model.train(training)
