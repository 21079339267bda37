# ruff: noqa: D417 (a tool's docstring tells the policy about its arguments; the draft is none of them)
"""A language model that completes texts; without one, a fixed rule takes its place."""

from __future__ import annotations

from simia_gym.domain.tools import tool
from simia_gym.domain.world import World
from simia_gym.errors import ToolError
from simia_gym.state import Draft

ROLE = "writer"
_SYSTEM = "Complete or answer the text of the user, briefly and in plain words."
_LONGEST = 200


class Llm(World):
    """See the module."""

    @tool(effect="none", route="world")
    async def llm_complete_text(self, db: Draft, prompt: str) -> str:
        """Let a language model complete a text. It knows nothing of the office but the prompt.

        Args:
            prompt: What it is to complete or to answer, with all that it needs to know.
        """
        if not prompt.strip():
            raise ToolError("Failed to complete the text.", "empty_prompt", "The prompt is empty.")
        if self.models is None or ROLE not in self.models.models:
            return extract(prompt)
        return await self.ask(ROLE, prompt, system=_SYSTEM)


def extract(prompt: str) -> str:
    """The beginning of a prompt's last paragraph, up to a limit of characters and to the end of a word."""
    last = " ".join(prompt.strip().split("\n\n")[-1].split())
    return last if len(last) <= _LONGEST else last[:_LONGEST].rpartition(" ")[0] or last[:_LONGEST]
