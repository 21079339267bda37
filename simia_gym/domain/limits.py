"""The greatest sizes of calls and answers, for a domain or for one of its tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from simia_gym.common.json_encoding import encode
from simia_gym.common.validation import StrictModel
from simia_gym.types import Op

TOO_LARGE = "too_large"
"""Error code of a call whose answer would be larger than the limits allow; no tool declares it."""


class Limits(StrictModel):
    """Sizes of calls and answers that a domain may change, and a tool for itself."""

    arguments: int = Field(default=10_000, ge=1, strict=True, description="Arguments of a call, in bytes of JSON.")
    slice: int = Field(
        default=60_000, ge=1, strict=True, description="Rows shown to the model for a call, in bytes of JSON."
    )
    observation: int = Field(default=40_000, ge=1, strict=True, description="Observation, in characters.")
    operations: int = Field(default=100, ge=1, strict=True, description="Operations, and revealed rows, of one answer.")
    value: int = Field(default=20_000, ge=1, strict=True, description="Value of an operation, in bytes of JSON.")

    def but(self, own: Limits | None) -> Limits:
        """These limits with those that a tool sets for itself."""
        return self if own is None else self.model_copy(update=own.model_dump(exclude_unset=True))

    def too_many(self, operations: int) -> str:
        """The violation by a number of operations; empty if there is none."""
        most = self.operations
        return f"there are {operations} operations; {most} are the most" if operations > most else ""

    def too_big(self, value: Any) -> str:
        """The violation by the value of an operation; empty if there is none."""
        size, most = len(value) if isinstance(value, str) else len(encode(value)), self.value
        return f"the value has {size} bytes; {most} are the most" if size > most else ""

    def too_long(self, observation: str) -> str:
        """The violation by an observation; empty if there is none."""
        size, most = len(observation), self.observation
        return f"observation has {size} characters; {most} are the most" if size > most else ""

    def too_large(self, ops: Sequence[Op], observation: str) -> str:
        """The first violation by an answer of code; empty if there is none."""
        for op in ops:
            if problem := self.too_big(op.get("value")):
                return f"{op['path']}: {problem}"
        return self.too_many(len(ops)) or self.too_long(observation)
