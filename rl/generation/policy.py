"""The policy ``hf``: a transformers model in this process, shared by all episodes."""

from __future__ import annotations

import atexit
import hashlib
import logging
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from simia_gym.actions.assistant import LENGTH, RecordedAction
from simia_gym.errors import Cut, Fault, InputError
from simia_gym.policies import PolicyOptions, PolicyStart
from simia_gym.rl.extras import require
from simia_gym.types import Message

if TYPE_CHECKING:
    from simia_gym.rl.chat.tokens import Conversation
    from simia_gym.rl.generation.generator import Generator
    from simia_gym.rl.generation.sampling import Sampling

logger = logging.getLogger("simia_gym")

_SLOTS = 64
_MAX_TOKENS = 512
_THINKING = "role.policy.thinking"
_EXTRA = ("top_p", "top_k", "max_length", "device", "dtype", "threads")


def hf_policies(options: PolicyOptions) -> HFPolicies:
    """Create the factory of the policy ``hf``.

    Args:
        options: ``model`` (a folder or a name on the hub), ``temperature`` (1 by default), ``max_tokens`` (of one turn;
            by default as in its training, according to its ``simia.json``, else 512), ``thinking`` (by default as in
            its training, else ``keep``), ``concurrency`` (turns that are sampled at the same time, 64 by default), and
            in ``extra`` ``top_p``, ``top_k``, ``max_length``, ``device``, ``dtype`` and ``threads``.

    Raises:
        InputError: There is no such model or setting, or an extra is not installed.
    """
    require("trl", "torch", "transformers")
    return HFPolicies(options)


class HFPolicies:
    """Creates policies that share a model and a generator; both are loaded at the first action.

    Attributes:
        content_hash: Hash of the model's files, which identifies the checkpoint.
        trained_prompt: The system message of its training, ``full`` or ``compact``; ``None`` if unknown.
        tokenizer: The model's tokenizer.
        thinking: ``never`` or ``keep``, as in its training unless set.
        sampling: How turns are sampled.
        cut_turns: Number of turns that reached a limit of tokens before the model ended them.

    Raises:
        InputError: There is no such model or setting.
    """

    def __init__(self, options: PolicyOptions) -> None:
        from simia_gym.rl.chat.thinking import choose_thinking
        from simia_gym.rl.chat.tokens import ChatTokens
        from simia_gym.rl.generation.loading import content_hash, find_model, load_tokenizer
        from simia_gym.rl.small.card import read_card

        if options.model is None:
            fix = "Give --policy-model FOLDER, a model in the Hugging Face format."
            raise InputError("it needs a model", where="policy 'hf'", fix=fix)
        unknown = [name for name in options.extra if name not in _EXTRA]
        if unknown:
            raise InputError(
                f"unknown setting {unknown[0]!r}", where="policy.extra", fix=f"Known: {', '.join(_EXTRA)}."
            )
        self._options = options
        self._folder = find_model(options.model, where="policy 'hf'")
        self.content_hash: str | None = content_hash(self._folder)
        card = read_card(self._folder)
        self.trained_prompt: str | None = None if card is None else card.prompt
        self.tokenizer: Any = load_tokenizer(self._folder)
        trained = None if card is None else card.thinking
        self.thinking = choose_thinking(options.thinking, trained, policy=self._folder, where=_THINKING)
        ChatTokens.of(self.tokenizer, self.thinking)
        self.sampling = _sampling(options, None if card is None else card.turn_tokens)
        self.cut_turns = 0
        self._generator: Generator | None = None

    def __call__(self) -> HFPolicy:
        """Create a policy, which plays one episode at a time."""
        return HFPolicy(self)

    @property
    def generator(self) -> Generator:
        """The generator, created at its first use."""
        if self._generator is None:
            from simia_gym.rl.generation.generator import Generator
            from simia_gym.rl.generation.loading import fitting_slots, load_model

            extra = self._options.extra
            loaded = load_model(self._folder, self.tokenizer, device=extra.get("device"), dtype=extra.get("dtype"))
            length = min(loaded.length, int(extra.get("max_length", loaded.length)))
            slots = fitting_slots(loaded.model, self._options.concurrency or _SLOTS, length)
            self._generator = Generator(
                loaded.model, end_ids=loaded.end_ids, max_length=length, slots=slots, threads=extra.get("threads")
            )
            atexit.register(self.close)  # torch must not be running in a thread when the interpreter ends
        return self._generator

    def count_cut(self, length: int) -> None:
        """Count a turn that was cut at a limit of tokens; log a warning at the first one."""
        self.cut_turns += 1
        if self.cut_turns == 1:
            why = "the most that a turn may have" if length == self.sampling.max_tokens else "and the context is full"
            fix = "; --role policy.max_tokens=N is for longer ones" if length == self.sampling.max_tokens else ""
            logger.warning("policy 'hf': a turn was cut at %d tokens, %s%s (said once)", length, why, fix)

    def close(self) -> None:
        """End the generator's thread."""
        if self._generator is not None:
            self._generator.close()
            atexit.unregister(self.close)


class HFPolicy:
    """One agent in one episode at a time: token in, token out.

    Its earlier turns are in the prompt as the sampled tokens. When the context is full, the episode is truncated and
    its current state is judged.

    Attributes:
        conversation: The tokens of the episode so far; ``None`` before the first action.
    """

    def __init__(self, source: HFPolicies) -> None:
        self._source = source
        self.conversation: Conversation | None = None
        self._seed = self._turn = 0
        self._shown: Sequence[Message] = ()
        self._name = ""
        self._begin()

    def start(self, start: PolicyStart) -> None:
        """Begin an episode; sampling depends only on its seed."""
        self._seed = start.seed
        self._begin()

    async def act(self, messages: Sequence[Message]) -> str:
        """Sample the next action; its text, without the token that ended the turn.

        Raises:
            Cut: The conversation fills the model's context.
            Fault: The model failed, or its first prompt does not fit. Kinds: ``generation``, ``prompt_too_long``.
        """
        from simia_gym.rl.chat.play import continues
        from simia_gym.rl.chat.tokens import Conversation
        from simia_gym.rl.generation.generator import GenerationError

        if self.conversation is None or not continues(messages, self._shown):
            self.conversation = Conversation(self._source.tokenizer, messages, self._source.thinking)
        else:
            new = list(messages[len(self._shown) :])
            self.conversation.heard(new[1:] if new[0].get("role") == "assistant" else new)
        self._shown = list(messages)
        generator = self._source.generator
        if len(self.conversation.ids) >= generator.max_length:
            if not self._turn:
                length = len(self.conversation.ids)
                message = f"the prompt has {length} tokens and leaves no room for a turn in {generator.max_length}"
                raise Fault("prompt_too_long", message, role="policy")
            raise Cut
        try:
            turn = await generator.generate(self._name, self.conversation.ids, self._turn_sampling())
        except GenerationError as error:
            raise Fault("generation", str(error), role="policy") from error
        self._turn += 1
        text = self.conversation.said(turn.token_ids, turn.logprobs)
        if turn.stop != LENGTH:
            return text
        self._source.count_cut(len(turn.token_ids))
        return RecordedAction(text, {"finish_reason": LENGTH})

    def _begin(self) -> None:
        self.conversation = None
        self._shown, self._turn = (), 0
        self._name = f"{id(self)}/{self._seed}"
        generator = self._source._generator
        if generator is not None:
            weakref.finalize(self, generator.forget, self._name)

    def _turn_sampling(self) -> Sampling:
        from dataclasses import replace

        digest = hashlib.sha256(f"hf/{self._seed}/{self._turn}".encode()).digest()
        return replace(self._source.sampling, seed=int.from_bytes(digest[:8], "big"))


def _sampling(options: PolicyOptions, trained: int | None) -> Sampling:
    from simia_gym.rl.generation.sampling import Sampling

    extra = options.extra
    return Sampling(
        temperature=1.0 if options.temperature is None else options.temperature,
        top_p=float(extra.get("top_p", 1.0)),
        top_k=int(extra.get("top_k", 0)),
        max_tokens=options.max_tokens or trained or _MAX_TOKENS,
    )
