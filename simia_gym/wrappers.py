"""Wrappers for those who want another view of the same episode."""

from __future__ import annotations

from typing import Any

import gymnasium

from simia_gym.env import SimiaEnv, transcript_text


class TranscriptObservation(gymnasium.ObservationWrapper[str, str, str]):
    """Gives the whole transcript so far as observation, instead of the newest messages.

    Args:
        env: A simia environment, wrapped or not.
        system: Whether the system message (policy and tools) stands at the top.
    """

    def __init__(self, env: gymnasium.Env[str, str], *, system: bool = True) -> None:
        super().__init__(env)
        self.system = system

    def observation(self, observation: str) -> str:
        """Replace the newest message by all of them.

        Raises:
            TypeError: The wrapped environment is not one of ours.
        """
        inner = self.env.unwrapped
        if not isinstance(inner, SimiaEnv):
            raise TypeError(f"TranscriptObservation needs a simia environment, got {type(inner).__name__}")
        messages: list[dict[str, Any]] = inner.episode.messages
        head = f"[system] {messages[0]['content']}\n" if self.system else ""
        return head + transcript_text(messages)
