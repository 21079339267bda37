"""Encodes the growing transcript of a policy as JSON bytes, each message once."""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.common.json_encoding import encode
from simia_gym.llm.prompt import Prompt
from simia_gym.policies.transcript import one_call, openai_messages
from simia_gym.state.frozen import FrozenDict
from simia_gym.types import JsonObject, Message

_system: tuple[str, bytes] | None = None


class EncodedTranscript:
    """Encodes each message of a growing transcript once.

    The messages before the last assistant message are final and their encoding is cached; the rest, the last turn, is
    encoded at each call. A transcript that does not extend the previous one is encoded from the start.
    """

    def __init__(self) -> None:
        self._seen: list[Message] = []
        self._prompt = Prompt()
        self._turn: list[Message] = []
        self._place = 0
        self._chunks: list[bytes] = []

    def prompt(self, messages: Sequence[Message]) -> Prompt:
        """Encode a transcript.

        Args:
            messages: The whole transcript so far.

        Returns:
            The transcript in the form that servers accept.
        """
        done = len(self._seen)
        goes_on = (messages if type(messages) is list else [*messages])[:done] == self._seen
        # The cache ends before an assistant message; a tool message there would belong to the cached turn.
        if not goes_on or (len(messages) > done > 0 and messages[done].get("role") == "tool"):
            self._seen, self._prompt, done = [], Prompt(), 0
        last = _last_turn(messages, done)
        if last > done:
            ended = list(messages[done:last])
            self._add(self._prompt, ended)
            self._prompt.mark_static()
            self._seen += ended
        whole = self._prompt.fork()
        self._add(whole, messages[last:])
        return whole

    def _add(self, prompt: Prompt, messages: Sequence[Message]) -> None:
        """Append a turn. Each turn is added twice at the same place (as the last turn, then as final); cache it."""
        if messages == self._turn and len(prompt) == self._place:
            prompt.add_chunks(self._chunks)
        else:
            # Copy mutable messages, so that a message that is later changed in place differs from its copy.
            self._turn = [message if type(message) is FrozenDict else dict(message) for message in messages]
            self._place = len(prompt)
            for message in one_call(messages) or openai_messages(messages):
                prompt.add_encoded(_encoded(message))
            self._chunks = prompt.chunks[self._place :]


def _encoded(message: JsonObject) -> bytes:
    """A message as bytes. The last system message is cached, because episodes of an environment share it."""
    global _system
    if message["role"] != "system" or type(message["content"]) is not str:
        return encode(message)
    known = _system
    if known is None or known[0] != message["content"]:
        known = _system = message["content"], encode(message)
    return known[1]


def _last_turn(messages: Sequence[Message], start: int) -> int:
    """The index of the last assistant message after ``start``; ``start`` if there is none."""
    at = len(messages) - 1
    while at > start and messages[at].get("role") != "assistant":
        at -= 1
    return max(at, start)
