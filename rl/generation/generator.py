"""Samples turns of many conversations from one model, with continuous batching in a thread of its own."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import torch

from simia_gym.errors import InputError, SimiaError
from simia_gym.rl.chat.play import Turn
from simia_gym.rl.generation.packed import PackedRunner, own_copy, supports_packing, tell_of_slowness
from simia_gym.rl.generation.plain import PlainRunner
from simia_gym.rl.generation.sampling import Sampling
from simia_gym.rl.generation.scheduler import Request, Runner, Scheduler
from simia_gym.rl.generation.weights import WeightUpdate


class GenerationError(SimiaError):
    """A turn could not be sampled: the model failed, or the generator is closed."""


class Generator:
    """Samples turns of many conversations at once.

    Requests join and leave at every step, so that no turn waits for a longer one. The keys and values of a conversation
    are kept in its slot, so only new tokens are computed; a prefix that two conversations share is computed once and
    copied. Slots are matched by content, not by the conversation's id.

    A turn depends only on its prompt, its settings and its seed, up to rounding: batches of other shapes differ in the
    last bits of the logits, which can change a token only if two tokens are almost equally likely (or if a random
    number falls on the edge between two).

    Args:
        model: A causal language model of transformers, on any device. Only `begin_update` changes it: sampling uses a
            copy in evaluation mode that shares its parameters. After training them in place, call `clear`.
        end_ids: Tokens that end every turn.
        max_length: Maximum tokens of a conversation, prompt and turn together.
        slots: Maximum number of conversations that are sampled at the same time and whose keys and values are kept.
        seed: Random seed; see `Sampling.seed`.
        chunk: Maximum prompt tokens in one step.
        threads: Number of torch threads for this generator; ``None`` for torch's default.

    Attributes:
        packed: Whether turns of different conversations are computed together. Models with another kind of attention
            are computed one conversation at a time, which is slow.
        max_length: Maximum tokens of a conversation.
        statistics: Counts so far; the object keeps changing.

    Raises:
        InputError: A number is out of range.
    """

    def __init__(
        self,
        model: Any,
        *,
        end_ids: Iterable[int],
        max_length: int,
        slots: int = 64,
        seed: int = 0,
        chunk: int = 1024,
        threads: int | None = None,
    ) -> None:
        for name, value in (("max_length", max_length), ("slots", slots), ("chunk", chunk)):
            if value < 1 + (name == "max_length"):
                raise InputError(f"{name} is {value}", where="generator", fix="Give more.")
        self._model, self._ends, self.max_length = model, frozenset(end_ids), max_length
        self._threads = threads
        self.packed = supports_packing(model)
        runner: Runner
        if self.packed:
            runner = PackedRunner(model, slots, max_length)
        else:
            runner = PlainRunner(own_copy(model))
            tell_of_slowness(type(model).__name__)
        self._scheduler = Scheduler(runner, slots, max_length, seed=seed, chunk=chunk)
        self.statistics = self._scheduler.statistics
        self._inbox: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._paused = False
        self._gone: BaseException | None = None
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="simia-generator", daemon=True)
        self._thread.start()

    async def generate(self, request_id: str, prompt_ids: Sequence[int], sampling: Sampling | None = None) -> Turn:
        """Sample one turn of a conversation, given all its tokens so far. May be called from any event loop.

        Raises:
            InputError: The prompt is empty or leaves no room for a token.
            GenerationError: The model failed, or the generator is closed.
        """
        how = sampling or Sampling()
        prompt = list(prompt_ids)
        if not prompt:
            raise InputError("the prompt is empty", where="generator", fix="Give at least one token.")
        room = min(how.max_tokens, self.max_length - len(prompt))
        if room < 1:
            what = f"the prompt has {len(prompt)} tokens, and the generator's conversations at most {self.max_length}"
            raise InputError(what, where="generator", fix="Give a greater max_length, or a shorter prompt.")
        ends = self._ends.union(how.stop_token_ids) if how.stop_token_ids else self._ends
        request = Request(request_id, prompt, how, room, ends)
        self._put(lambda: self._scheduler.add(request))
        return await asyncio.wrap_future(request.turn)

    async def abort(self) -> list[str]:
        """End all current turns with the tokens sampled so far; return the ids of their conversations."""
        aborted: list[str] = await self.call(self._scheduler.abort)
        return aborted

    async def pause(self) -> None:
        """Pause sampling; requests wait until `resume`."""
        await self.call(lambda: setattr(self, "_paused", True))

    async def resume(self) -> None:
        """Resume sampling."""
        await self.call(lambda: setattr(self, "_paused", False))

    async def clear(self) -> None:
        """Drop all cached keys and values and free their memory; current turns are recomputed and continue."""
        await self.call(self._scheduler.clear)

    async def call(self, work: Callable[[], Any]) -> Any:
        """Run a function in the generator's thread, between two steps."""
        done: Future[Any] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except Exception as error:
                done.set_exception(error)

        self._put(run)
        return await asyncio.wrap_future(done)

    def begin_update(self) -> WeightUpdate:
        """Start an update with weights that arrive in parts; copy them with `call` while paused, then `clear`."""
        return WeightUpdate(self._model)

    def forget(self, request_id: str) -> None:
        """Free the slot of a finished conversation. Returns at once and needs no running loop."""
        with suppress(GenerationError):
            self._put(lambda: self._scheduler.forget(request_id))

    def close(self) -> None:
        """End the thread. Current turns fail with a `GenerationError`. May be called twice."""
        with self._lock:
            if self._gone is None:
                self._gone = GenerationError("the generator is closed")
                self._inbox.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> Generator:
        """For ``with``."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Close."""
        self.close()

    def _put(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._gone is not None:
                raise GenerationError(str(self._gone)) from self._gone
            self._inbox.put(work)

    def _work(self) -> None:
        """The thread."""
        try:
            if self._threads is not None:
                torch.set_num_threads(self._threads)
            with torch.inference_mode():
                while self._serve():
                    pass
        except BaseException as error:
            self._end(error)
            raise
        self._end(self._gone or GenerationError("the generator is closed"))

    def _serve(self) -> bool:
        """Execute the queued calls, then one step; False when the generator is closed."""
        scheduler = self._scheduler
        while True:
            nothing_to_do = self._paused or scheduler.idle
            try:
                work = self._inbox.get(block=nothing_to_do)
            except queue.Empty:
                break
            if work is None:
                return False
            work()
        try:
            scheduler.step()
        except Exception as error:
            self._fail(error)
        return True

    def _end(self, error: BaseException) -> None:
        """Fail all requests, so that no caller waits for ever."""
        with self._lock:
            self._gone = self._gone or error
        while True:
            try:
                work = self._inbox.get(block=False)
            except queue.Empty:
                break
            if work is not None:
                work()
        self._fail(error)

    def _fail(self, error: BaseException) -> None:
        """Fail all requests, each with an exception of its own, since each is raised in another task."""

        def made() -> GenerationError:
            known = isinstance(error, GenerationError)
            failed = GenerationError(str(error) if known else f"{type(error).__name__}: {error}")
            failed.__cause__ = None if known else error
            return failed

        self._scheduler.fail(made)
