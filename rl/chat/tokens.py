"""The tokens of one episode: exactly those that the policy read and wrote, in order, and only ever added to.

What a policy said is kept as the ids that were sampled, never as text that is encoded again: the same text may be
written in other tokens, and then the probabilities that a trainer computes are those of something that was never said.
What the environment says is encoded by the chat template, as the difference between a rendering with the new messages
and one without. Both renderings are of a made-up conversation in front of the new messages, so that nothing depends on
what the policy wrote (an unfinished tag, a turn without its end), and the ids are those that verl's continuous token
builders give.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any
from weakref import WeakKeyDictionary

from simia_gym.errors import InputError
from simia_gym.types import JsonObject, Message

# The words stand in no prompt that a model sees. verl has the same conversation before the messages that it encodes, so
# that templates which look back (Qwen3's looks for the last question) see the same there.
_BEFORE: tuple[JsonObject, ...] = (
    {"role": "system", "content": "continuous token synthetic system"},
    {"role": "user", "content": "continuous token synthetic user"},
)
_NAMELESS = "continuous_token_tool"


class ChatTokens:
    """A tokenizer and what its chat template puts around messages. One for all episodes of a tokenizer.

    Args:
        tokenizer: A Hugging Face tokenizer with a chat template that ends prompts with the head of the assistant's
            turn.

    Attributes:
        end_id: The token that closes a turn, such as that of ``<|im_end|>``; ``None`` if turns have none.
        separator: What the template writes between that token and the next turn; for ChatML the token of a newline.

    Raises:
        InputError: The tokenizer has no chat template.
    """

    def __init__(self, tokenizer: Any) -> None:
        if not getattr(tokenizer, "chat_template", None):
            fix = "Give a chat model's tokenizer, or one made by `simia new-policy`."
            raise InputError("the tokenizer has no chat template", where=_name(tokenizer), fix=fix)
        self.tokenizer = tokenizer
        self.end_id, self.separator = self._end_of_turn()
        self._prefixes: dict[tuple[str, ...] | None, tuple[list[JsonObject], list[int]]] = {}

    @classmethod
    def of(cls, tokenizer: Any) -> ChatTokens:
        """The one that belongs to a tokenizer, made at its first use."""
        known = _known.get(tokenizer)
        if known is None:
            known = _known[tokenizer] = cls(tokenizer)
        return known

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The ids of a whole conversation, with the head of the assistant's next turn at the end."""
        return self._render([template_message(message) for message in messages], prompt=True)

    def heard(self, messages: Sequence[Message], last_id: int | None) -> list[int]:
        """The ids that new messages of the environment add.

        Args:
            messages: The messages, in the roles ``tool``, ``user`` and ``system``.
            last_id: The last token of the conversation so far. If the policy closed its turn, what separates turns
                comes first; a turn that was cut off stays unclosed, since nothing may be put into the policy's mouth.

        Returns:
            The ids, with the head of the assistant's next turn at the end.

        Raises:
            InputError: There is no message, or the chat template does not keep its prefix: what it writes for earlier
                messages changes with later ones.
        """
        if not messages:
            raise InputError("there is no new message", where="conversation", fix="Give what the environment said.")
        ids = list(self.separator) if last_id is not None and last_id == self.end_id else []
        groups = _groups([template_message(message) for message in messages])
        for group in groups:
            before, known = self._prefix(group)
            whole = self._render([*before, *group], prompt=group is groups[-1])
            if whole[: len(known)] != known:
                what = f"its chat template writes earlier messages otherwise when {_roles(group)} messages follow"
                fix = "Use a template that only ever appends."
                raise InputError(what, where=_name(self.tokenizer), fix=fix)
            ids += whole[len(known) :]
        return ids

    def text(self, ids: Sequence[int]) -> str:
        """What the policy's tokens say, without the tokens that only steer."""
        said = self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(said)

    def _prefix(self, group: list[JsonObject]) -> tuple[list[JsonObject], list[int]]:
        """The made-up conversation in front of a group of messages, and its ids."""
        tools = tuple(str(message.get("name") or _NAMELESS) for message in group) if _is_tool(group[0]) else None
        if tools not in self._prefixes:
            if len(self._prefixes) > _MOST_PREFIXES:
                self._prefixes.clear()
            before = [*_BEFORE, *([] if tools is None else [_calls(tools)])]
            self._prefixes[tools] = (before, self._render(before, prompt=False))
        return self._prefixes[tools]

    def _render(self, messages: Sequence[Mapping[str, Any]], *, prompt: bool) -> list[int]:
        ids = self.tokenizer.apply_chat_template(
            [dict(message) for message in messages], tokenize=True, add_generation_prompt=prompt, return_dict=False
        )
        return [int(item) for item in ids]

    def _end_of_turn(self) -> tuple[int | None, tuple[int, ...]]:
        """Two user turns that differ in their text alone end alike: with what closes a turn and separates it."""
        empty, filled = (self._render([{"role": "user", "content": text}], prompt=False) for text in ("", "x"))
        common = 0
        while common < min(len(empty), len(filled)) and empty[-1 - common] == filled[-1 - common]:
            common += 1
        tail = filled[len(filled) - common :]
        special = {*self.tokenizer.all_special_ids, *self.tokenizer.get_added_vocab().values()}
        closing = [place for place, item in enumerate(tail) if item in special]
        if not closing:
            return self.tokenizer.eos_token_id, ()
        return tail[closing[-1]], tuple(tail[closing[-1] + 1 :])


class Conversation:
    """The tokens of one episode.

    Args:
        tokenizer: A Hugging Face tokenizer with a chat template.
        messages: The first messages: the system message and what the environment opens with.

    Attributes:
        ids: All token ids so far.
        mask: 1 where the policy sampled the token, else 0; as long as ``ids``.
        logprobs: What the policy's tokens were sampled with, 0.0 elsewhere and where it is not known; as long as
            ``ids``.
        prompt_length: Number of tokens before the first that was sampled.
        end_id: The token that ends the policy's turn.
    """

    def __init__(self, tokenizer: Any, messages: Sequence[Message]) -> None:
        self._chat = ChatTokens.of(tokenizer)
        self.ids = self._chat.prompt(messages)
        self.prompt_length = len(self.ids)
        self.mask = [0] * self.prompt_length
        self.logprobs = [0.0] * self.prompt_length
        self.end_id = self._chat.end_id

    def said(self, token_ids: Sequence[int], logprobs: Sequence[float] | None = None) -> str:
        """Append what the policy sampled, token for token.

        Args:
            token_ids: The sampled ids, the token that ended the turn included.
            logprobs: Their log-probabilities.

        Returns:
            The text of the action.

        Raises:
            InputError: Ids and log-probabilities are not equally many.
        """
        if logprobs is not None and len(logprobs) != len(token_ids):
            what = f"{len(token_ids)} tokens have {len(logprobs)} log-probabilities"
            raise InputError(what, where="conversation", fix="Give one for each token.")
        self.ids += token_ids
        self.mask += [1] * len(token_ids)
        self.logprobs += [0.0] * len(token_ids) if logprobs is None else logprobs
        return self._chat.text(token_ids)

    def heard(self, messages: Sequence[Message]) -> None:
        """Append what the environment said, and the head of the policy's next turn.

        Args:
            messages: The new messages.

        Raises:
            InputError: As `ChatTokens.heard`.
        """
        new = self._chat.heard(messages, self.ids[-1] if self.ids else None)
        self.ids += new
        self.mask += [0] * len(new)
        self.logprobs += [0.0] * len(new)


def template_message(message: Message) -> JsonObject:
    """A message as chat templates take it: role, text, and the tool's name where it is a tool's answer."""
    content = message.get("content")
    plain: JsonObject = {"role": message["role"], "content": "" if content is None else content}
    if _is_tool(message) and message.get("name"):
        plain["name"] = message["name"]
    return plain


_known: WeakKeyDictionary[Any, ChatTokens] = WeakKeyDictionary()
_MOST_PREFIXES = 256


def _groups(messages: list[JsonObject]) -> list[list[JsonObject]]:
    """Tool messages that follow each other belong to one turn in most templates; all others are their own."""
    numbered = enumerate(messages)
    grouped = groupby(numbered, key=lambda item: -1 if _is_tool(item[1]) else item[0])
    return [[message for _, message in group] for _, group in grouped]


def _calls(names: Sequence[str]) -> JsonObject:
    """The assistant's turn before tool messages: some templates look there for what was called."""
    calls = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": {}}}
        for place, name in enumerate(names)
    ]
    return {"role": "assistant", "content": "", "reasoning_content": "reasoning", "tool_calls": calls}


def _is_tool(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "tool"


def _roles(messages: Sequence[Mapping[str, Any]]) -> str:
    return "/".join(dict.fromkeys(str(message.get("role")) for message in messages))


def _name(tokenizer: Any) -> str:
    return str(getattr(tokenizer, "name_or_path", "") or "tokenizer")
