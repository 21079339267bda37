"""The transcript of a policy as bytes that only grow."""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.encoding import encode
from simia_gym.llm.prompt import Prompt
from simia_gym.policies.transcript import openai_messages
from simia_gym.types import Message


class EncodedTranscript:
    """Encodes each message of a growing transcript once.

    What stands before the last assistant message cannot change any more and is kept; the rest, a turn with its
    answers, is encoded at each call. A transcript that does not go on from the one before is encoded anew.
    """

    def __init__(self) -> None:
        self._seen: list[Message] = []
        self._prompt = Prompt()

    def prompt(self, messages: Sequence[Message]) -> Prompt:
        """Encode a transcript.

        Args:
            messages: The whole transcript so far.

        Returns:
            It in the form that servers accept.
        """
        seen = self._seen
        goes_on = len(messages) >= len(seen) and all(
            old is new or old == new for old, new in zip(seen, messages, strict=False)
        )
        # What was kept ended before an assistant message; an answer in its place would belong to the turn before.
        if not goes_on or (len(messages) > len(seen) > 0 and messages[len(seen)].get("role") == "tool"):
            seen = self._seen = []
            self._prompt = Prompt()
        done = len(seen)
        last = next((at for at in range(len(messages) - 1, done, -1) if messages[at].get("role") == "assistant"), done)
        if last > done:
            _add(self._prompt, messages[done:last])
            self._prompt.mark_static()
            seen.extend(messages[done:last])
        whole = self._prompt.fork()
        _add(whole, messages[last:])
        return whole


def _add(prompt: Prompt, messages: Sequence[Message]) -> None:
    for message in openai_messages(messages):
        prompt.add_encoded(encode(message))
