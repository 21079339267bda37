"""A blocking client of the simulator's endpoint, for frameworks whose steps block."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from openai import OpenAI

from benchmarks.model_calls.measure import CLIENT_CORE, pin, settings


class ModelWorld:
    """The simulated world of one episode.

    Args:
        start: The prepared episode.
        client: The client, shared by all episodes.
    """

    def __init__(self, start: dict[str, Any], client: OpenAI) -> None:
        self.start, self._client, self.turn = start, client, 0

    @property
    def over(self) -> bool:
        """Whether all turns have been played."""
        return self.turn >= len(self.start["asks"])

    def answer(self) -> str:
        """Request the simulator's reply to the tool call of this turn."""
        question: list[Any] = [
            {"role": "system", "content": self.start["simulator"]},
            {"role": "user", "content": self.start["asks"][self.turn]},
        ]
        self.turn += 1
        form: Any = {"type": "json_object"}
        answered = self._client.chat.completions.create(model="simulator", messages=question, response_format=form)
        observation: str = json.loads(answered.choices[0].message.content or "")["observation"]
        return observation


def opening(start: dict[str, Any]) -> list[Any]:
    """The first messages of an episode."""
    return [{"role": "system", "content": start["system"]}, {"role": "user", "content": start["opening"]}]


def told(call_id: str, observation: str) -> dict[str, Any]:
    """The observation as a tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": observation}


def setting() -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    """Pin the process to the client's core; return the options, the prepared episodes and the server's address."""
    pin(CLIENT_CORE)
    options = settings()
    starts = json.loads(Path(options["answers"]).read_text(encoding="utf-8"))["episodes"]
    return options, starts, f"http://127.0.0.1:{options['port']}"
