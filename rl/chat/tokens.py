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
from itertools import takewhile
from typing import Any
from weakref import WeakKeyDictionary

from simia_gym.actions.thinking import OPEN
from simia_gym.errors import InputError
from simia_gym.policies.base import THINKING_OFF, Thinking
from simia_gym.rl.chat.forms import BEFORE, find_form, names_of
from simia_gym.rl.chat.thinking import DEFAULT, template_arguments
from simia_gym.types import JsonObject, Message


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
        closes: Whether the template closes the policy's turn; otherwise it ends where the next one begins, and the
            first token of that one may be the last that the policy sampled, as in GLM's.

    Raises:
        InputError: The tokenizer has no chat template, or one whose thinking cannot be turned off as asked, or one
            that does not render in the middle of a conversation what the environment says.
    """

    def __init__(self, tokenizer: Any, thinking: Thinking = DEFAULT) -> None:
        if not getattr(tokenizer, "chat_template", None):
            fix = "Give a chat model's tokenizer, or one made by `simia new-policy`."
            raise InputError("the tokenizer has no chat template", where=_name(tokenizer), fix=fix)
        self.tokenizer = tokenizer
        self.thinking, self._arguments = thinking, template_arguments(thinking)
        try:
            opening = self._opening(self._arguments)
            self.end_id, self.separator, self._last_words = self._end_of_turn()
        except Exception as error:  # templates raise what they like
            raise self._refused(f"raises where a user follows a system message ({str(error)[:80]})") from None
        self.opens_thinking = opening.rstrip().endswith(OPEN)
        if self._arguments:
            self._check_switch(opening)
        closing = self._closing(self.end_id, self.separator, self._last_words)
        self.closes = self._is_closed(closing)
        form = find_form(self._text_of, closing if self.closes else "")
        if isinstance(form, str):
            raise self._refused(form)
        self._form = form
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
        groups = self._form.groups([template_message(message) for message in messages])
        for group in groups:
            before, known = self._before(names_of(group))
            whole = self._render([*before, *group], prompt=group is groups[-1])
            if whole[: len(known)] != known:
                raise self._refused(f"renders earlier messages differently when {group[0]['role']} messages follow")
            ids += whole[len(known) :]
        return ids[1:] if not self.closes and ids[:1] == [last_id] else ids

    def ends_with(self, following: Sequence[Message]) -> list[int]:
        """The tokens that end a turn of the policy which these messages follow, those that it samples itself."""
        if self.end_id is None:
            return []
        if self.closes:
            return [*self._last_words, self.end_id]
        return self.heard(following or [{"role": "user", "content": ""}], None)[:1]

    def text(self, ids: Sequence[int]) -> str:
        """The text of the policy's tokens, without special tokens."""
        said = self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return str(said)

    def _render_before(self, tools: tuple[str, ...] | None) -> tuple[list[JsonObject], list[int]]:
        """The fixed conversation before new messages, and its ids; ``tools`` are those that the messages answer for."""
        before = self._form.before(tools)
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
        return str(render(list(BEFORE), tokenize=False, add_generation_prompt=True, **arguments))

    def _text_of(self, messages: Sequence[Mapping[str, Any]]) -> str:
        plain = [dict(message) for message in messages]
        return str(self.tokenizer.apply_chat_template(plain, tokenize=False, **self._arguments))

    def _closing(self, end_id: int | None, separator: tuple[int, ...], last_words: tuple[int, ...]) -> str:
        return "" if end_id is None else str(self.tokenizer.decode([*last_words, end_id, *separator]))

    def _is_closed(self, closing: str) -> bool:
        """Whether a turn of the policy ends with this text; so it is, too, of a template that raises here."""
        said = {"role": "assistant", "content": "said"}
        try:
            whole = self._text_of([*BEFORE, said, {"role": "user", "content": "heard"}])
        except Exception:  # `find_form` tells of what the template raises
            return True
        return bool(closing) and f"said{closing}" in whole

    def _refused(self, what: str) -> InputError:
        fix = "Give the tokenizer a chat template in which messages can be appended."
        return InputError(f"its chat template {what}", where=_name(self.tokenizer), fix=fix)

    def _check_switch(self, off: str) -> None:
        """Check that the template has a switch for thinking, or never thinks; ``off`` is its text without thinking."""
        thinks = "think" in str(self.tokenizer.chat_template).lower()
        if thinks and off == self._opening(dict.fromkeys(THINKING_OFF, True)):
            what = f"its chat template knows thinking, but has no switch {next(iter(THINKING_OFF))!r} to turn it off"
            raise InputError(what, where=_name(self.tokenizer), fix="Set thinking to keep.")

    def _end_of_turn(self) -> tuple[int | None, tuple[int, ...], tuple[int, ...]]:
        """The token that closes a turn, the separator behind it, and what the policy's turn has before it.

        The closing is the common end of two turns with different texts: of a user or, where the policy's turns end
        otherwise, of the policy.
        """
        found: tuple[int | None, tuple[int, ...], tuple[int, ...]] = (self.tokenizer.eos_token_id, (), ())
        special = {*self.tokenizer.all_special_ids, *self.tokenizer.get_added_vocab().values()}
        first: set[int] = set()
        for before, role in (((), "user"), (BEFORE, "assistant")):
            turns = [self._render([*before, {"role": role, "content": text}], prompt=False) for text in ("a", "xx")]
            pairs = zip(*(turn[::-1] for turn in turns), strict=False)
            tail = [item for item, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)][::-1]
            # What stands in a user's turn but not at its end opens it, also where the template gives it to the policy.
            places = [place for place, item in enumerate(tail) if item in special - first]
            if places:
                last = places[-1]
                one = (tail[last], tuple(tail[last + 1 :]), () if role == "user" else tuple(tail[:last]))
                if self._is_closed(self._closing(*one)):
                    return one
                found = one if role == "user" else found
            else:
                first.update(turns[0])
        return found


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

    def ends_with(self, following: Sequence[Message]) -> list[int]:
        """As `ChatTokens.ends_with`."""
        return self._chat.ends_with(following)

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


def _is_tool(message: Mapping[str, Any]) -> bool:
    return message.get("role") == "tool"


def _name(tokenizer: Any) -> str:
    return str(getattr(tokenizer, "name_or_path", "") or "tokenizer")
