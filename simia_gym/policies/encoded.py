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

    What stands before the last assistant message cannot change any more and is kept; the rest, a turn with its
    answers, is encoded at each call. A transcript that does not go on from the one before is encoded anew.
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
            It in the form that servers accept.
        """
        done = len(self._seen)
        goes_on = (messages if type(messages) is list else [*messages])[:done] == self._seen
        # What was kept ended before an assistant message; an answer in its place would belong to the turn before.
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
        """Append a turn. It comes twice, at the same place: when it is the last, and when the next one has begun."""
        if messages == self._turn and len(prompt) == self._place:
            prompt.add_chunks(self._chunks)
        else:
            # Copies, where they can be changed: a message that is changed in place is then another one.
            self._turn = [message if type(message) is FrozenDict else dict(message) for message in messages]
            self._place = len(prompt)
            for message in one_call(messages) or openai_messages(messages):
                prompt.add_encoded(_encoded(message))
            self._chunks = prompt.chunks[self._place :]


def _encoded(message: JsonObject) -> bytes:
    """A message as bytes. Episodes of an environment begin with the same long one, so the last of these is kept."""
    global _system
    if message["role"] != "system" or type(message["content"]) is not str:
        return encode(message)
    known = _system
    if known is None or known[0] != message["content"]:
        known = _system = message["content"], encode(message)
    return known[1]


def _last_turn(messages: Sequence[Message], start: int) -> int:
    """Where the last assistant message after ``start`` stands, else ``start``."""
    at = len(messages) - 1
    while at > start and messages[at].get("role") != "assistant":
        at -= 1
    return max(at, start)
