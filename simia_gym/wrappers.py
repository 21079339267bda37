"""Gymnasium wrappers that change the observation."""

from __future__ import annotations

from typing import Any

import gymnasium

from simia_gym.env import SimiaEnv, transcript_text


class TranscriptObservation(gymnasium.ObservationWrapper[str, str, str]):
    """Makes the whole transcript so far the observation, instead of only the newest messages.

    Args:
        env: A simia environment, wrapped or not.
        system: Whether the transcript begins with the system message (policy text and tools).
    """

    def __init__(self, env: gymnasium.Env[str, str], *, system: bool = True) -> None:
        super().__init__(env)
        self.system = system

    def observation(self, observation: str) -> str:
        """Replace the newest messages by the whole transcript.

        Raises:
            TypeError: The wrapped environment is not a `SimiaEnv`.
        """
        inner = self.env.unwrapped
        if not isinstance(inner, SimiaEnv):
            raise TypeError(f"TranscriptObservation needs a simia environment, got {type(inner).__name__}")
        messages: list[dict[str, Any]] = inner.episode.messages
        head = f"[system] {messages[0]['content']}\n" if self.system else ""
        return head + transcript_text(messages)
