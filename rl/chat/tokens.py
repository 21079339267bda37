"""The tokens of one episode: exactly those that the policy read and sampled, in order, append-only.

The policy's turns are kept as the sampled ids and never encoded again from text: another tokenisation of the same text
would give the trainer log-probabilities of tokens that were never sampled. Messages of the environment are encoded with
the chat template, as the difference between a rendering with the new messages and one without them. Both renderings
start with the same fixed conversation, so that they do not depend on the policy's text (an unfinished tag, a turn
without an end), and the ids equal those of verl's continuous token builders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby, takewhile
from typing import Any
from weakref import WeakKeyDictionary

from simia_gym.actions.thinking import OPEN
from simia_gym.errors import InputError
from simia_gym.policies.base import THINKING_OFF, Thinking
from simia_gym.rl.chat.thinking import DEFAULT, template_arguments
from simia_gym.types import JsonObject, Message

# No model sees these words. verl starts its renderings with the same conversation, so that templates that look at
# earlier messages (Qwen3's looks for the last question) give the same result.
_BEFORE: tuple[JsonObject, ...] = (
    {"role": "system", "content": "continuous token synthetic system"},
    {"role": "user", "content": "continuous token synthetic user"},
)
_NAMELESS = "continuous_token_tool"


class ChatTokens:
    """A tokenizer with its chat template; shared by all episodes of a tokenizer.

    Args:
        tokenizer: A Hugging Face tokenizer with a chat template.
        thinking: ``never`` or ``keep``; see `simia_gym.rl.chat.thinking`.

    Attributes:
        thinking: ``never`` or ``keep``.
        opens_thinking: Whether the policy's turn begins inside of thinking, because the template opens it.
        end_id: The token that closes a turn, such as ``<|im_end|>``; ``None`` if there is none.
        separator: The tokens between that token and the next turn; for ChatML a newline.

    Raises:
        InputError: The tokenizer has no chat template, or one whose thinking cannot be turned off as asked.
    """

    def __init__(self, tokenizer: Any, thinking: Thinking = DEFAULT) -> None:
        if not getattr(tokenizer, "chat_template", None):
            fix = "Give a chat model's tokenizer, or one made by `simia new-policy`."
            raise InputError("the tokenizer has no chat template", where=_name(tokenizer), fix=fix)
        self.tokenizer = tokenizer
        self.thinking, self._arguments = thinking, template_arguments(thinking)
        opening = self._opening(self._arguments)
        self.opens_thinking = opening.rstrip().endswith(OPEN)
        if self._arguments:
            self._check_switch(opening)
        self.end_id, self.separator = self._end_of_turn()
        self._before = lru_cache(maxsize=256)(self._render_before)

    @classmethod
    def of(cls, tokenizer: Any, thinking: Thinking = DEFAULT) -> ChatTokens:
        """The shared instance of a tokenizer, created at its first use."""
        known = _known.setdefault(tokenizer, {})
        if thinking not in known:
            known[thinking] = cls(tokenizer, thinking)
        return known[thinking]

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The ids of a whole conversation, followed by those that open the assistant's next turn."""
        return self._render([template_message(message) for message in messages], prompt=True)

    def heard(self, messages: Sequence[Message], last_id: int | None) -> list[int]:
        """The ids that new messages of the environment add, then those that open the assistant's next turn.

        Args:
            messages: The messages, in the roles ``tool``, ``user`` and ``system``.
            last_id: The last token of the conversation so far. If it closes the policy's turn, the separator is put
                before the new messages; a truncated turn stays unclosed, since no token may be added to it.

        Raises:
            InputError: There is no message, or the chat template renders earlier messages differently when later ones
                follow.
        """
        if not messages:
            raise InputError("there is no new message", where="conversation", fix="Give what the environment said.")
        ids = list(self.separator) if last_id is not None and last_id == self.end_id else []
        # Consecutive tool messages are rendered together: they share a turn in most templates.
        plain = enumerate(map(template_message, messages))
        together = groupby(plain, key=lambda item: -1 if _is_tool(item[1]) else item[0])
        groups = [[message for _, message in items] for _, items in together]
        for group in groups:
            names = tuple(str(message.get("name") or _NAMELESS) for message in group) if _is_tool(group[0]) else None
            before, known = self._before(names)
            whole = self._render([*before, *group], prompt=group is groups[-1])
            if whole[: len(known)] != known:
                what = f"its chat template renders earlier messages differently when {group[0]['role']} messages follow"
                fix = "Use a template that renders earlier messages independently of later ones."
                raise InputError(what, where=_name(self.tokenizer), fix=fix)
            ids += whole[len(known) :]
        return ids

    def text(self, ids: Sequence[int]) -> str:
        """The text of the policy's tokens, without special tokens."""
        said = self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(said)

    def _render_before(self, tools: tuple[str, ...] | None) -> tuple[list[JsonObject], list[int]]:
        """The fixed conversation before new messages, and its ids; ``tools`` are those that the messages answer for."""
        before = [*_BEFORE, *([] if tools is None else [_calls(tools)])]
        return before, self._render(before, prompt=False)

    def _render(self, messages: Sequence[Mapping[str, Any]], *, prompt: bool) -> list[int]:
        ids = self.tokenizer.apply_chat_template(
            [dict(message) for message in messages],
            tokenize=True,
            add_generation_prompt=prompt,
            return_dict=False,
            **self._arguments,
        )
        return [int(item) for item in ids]

    def _opening(self, arguments: Mapping[str, Any]) -> str:
        """The text of a short conversation up to where the policy's turn begins."""
        render = self.tokenizer.apply_chat_template
        return str(render(list(_BEFORE), tokenize=False, add_generation_prompt=True, **arguments))

    def _check_switch(self, off: str) -> None:
        """Check that the template has a switch for thinking, or never thinks; ``off`` is its text without thinking."""
        thinks = "think" in str(self.tokenizer.chat_template).lower()
        if thinks and off == self._opening(dict.fromkeys(THINKING_OFF, True)):
            what = f"its chat template knows thinking, but has no switch {next(iter(THINKING_OFF))!r} to turn it off"
            raise InputError(what, where=_name(self.tokenizer), fix="Set thinking to keep.")

    def _end_of_turn(self) -> tuple[int | None, tuple[int, ...]]:
        """The token that closes a turn and the separator: the common suffix of two user turns with different texts."""
        empty, filled = (self._render([{"role": "user", "content": text}], prompt=False) for text in ("", "x"))
        pairs = zip(reversed(empty), reversed(filled), strict=False)
        tail = [item for item, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)][::-1]
        special = {*self.tokenizer.all_special_ids, *self.tokenizer.get_added_vocab().values()}
        closing = [place for place, item in enumerate(tail) if item in special]
        if not closing:
            return self.tokenizer.eos_token_id, ()
        return tail[closing[-1]], tuple(tail[closing[-1] + 1 :])


class Conversation:
    """The tokens of one episode.

    Args:
        tokenizer: A Hugging Face tokenizer with a chat template.
        messages: The initial messages: the system message and the environment's first message.
        thinking: ``never`` or ``keep``; see `simia_gym.rl.chat.thinking`.

    Attributes:
        ids: All token ids so far.
        mask: 1 for each token that the policy sampled, else 0; as long as ``ids``.
        logprobs: Log-probabilities of the sampled tokens, else 0.0; as long as ``ids``.
        prompt_length: Number of tokens of the prompt.
        end_id: The token that ends the policy's turn.
        opens_thinking: Whether the chat template opens thinking at the beginning of the policy's turn.
    """

    def __init__(self, tokenizer: Any, messages: Sequence[Message], thinking: Thinking = DEFAULT) -> None:
        self._chat = ChatTokens.of(tokenizer, thinking)
        self.ids = self._chat.prompt(messages)
        self.prompt_length = len(self.ids)
        self.mask = [0] * self.prompt_length
        self.logprobs = [0.0] * self.prompt_length
        self.end_id, self.opens_thinking = self._chat.end_id, self._chat.opens_thinking

    def said(self, token_ids: Sequence[int], logprobs: Sequence[float] | None = None) -> str:
        """Append a sampled turn.

        Args:
            token_ids: The sampled ids, including the one that ended the turn.
            logprobs: Their log-probabilities.

        Returns:
            The text of the action.

        Raises:
            InputError: The numbers of ids and log-probabilities differ.
        """
        if logprobs is not None and len(logprobs) != len(token_ids):
            what = f"{len(token_ids)} tokens have {len(logprobs)} log-probabilities"
            raise InputError(what, where="conversation", fix="Give one for each token.")
        self.ids += token_ids
        self.mask += [1] * len(token_ids)
        self.logprobs += [0.0] * len(token_ids) if logprobs is None else logprobs
        return self._chat.text(token_ids)

    def heard(self, messages: Sequence[Message]) -> None:
        """Append messages of the environment, and the tokens that open the policy's next turn.

        Raises:
            InputError: As `ChatTokens.heard`.
        """
        new = self._chat.heard(messages, self.ids[-1] if self.ids else None)
        self.ids += new
        self.mask += [0] * len(new)
        self.logprobs += [0.0] * len(new)


def template_message(message: Message) -> JsonObject:
    """A message for a chat template: role, text, and the tool's name in a tool message."""
    content = message.get("content")
    plain: JsonObject = {"role": message["role"], "content": "" if content is None else content}
    if _is_tool(message) and message.get("name"):
        plain["name"] = message["name"]
    return plain


_known: WeakKeyDictionary[Any, dict[Thinking, ChatTokens]] = WeakKeyDictionary()


def _calls(names: Sequence[str]) -> JsonObject:
    """The assistant's turn before tool messages; some templates look up the called tools there."""
    calls = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": {}}}
        for place, name in enumerate(names)
    ]
    return {"role": "assistant", "content": "", "reasoning_content": "reasoning", "tool_calls": calls}


def _is_tool(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "tool"


def _name(tokenizer: Any) -> str:
    return str(getattr(tokenizer, "name_or_path", "") or "tokenizer")
