"""Language models that a world's own tools ask, in roles that ``domain.yaml`` declares."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from simia_gym.contracts import StepContext
from simia_gym.llm.ask import MODEL_EVENT, ask, derive_seed
from simia_gym.llm.prompt import Prompt
from simia_gym.llm.types import ChatModel, ChatRequest


class ToolModels:
    """The models that the tools of one episode may ask, one after another, so that each run records the same order."""

    def __init__(self, models: Mapping[str, ChatModel], context: StepContext) -> None:
        self.models, self._context = models, context
        self._lock = asyncio.Lock()

    async def ask(self, role: str, text: str, system: str) -> str:
        """Send a request in a role, and record the reply."""
        prompt = Prompt()
        if system:
            prompt.add("system", system)
        prompt.add("user", text)
        context = self._context
        async with self._lock:
            events = context.ledger.events
            earlier = (event for event in reversed(events) if event["type"] == MODEL_EVENT and event["role"] == "world")
            ordinal = next((event["ordinal"] + 1 for event in earlier), 0)
            turn = next((event["turn"] for event in reversed(events) if event["type"] == "action"), 0)
            seed = derive_seed([context.group or context.seed, role, ordinal])
            request = ChatRequest("world", prompt, None, seed, context.scope, ordinal, purpose=role)
            return (await ask(self.models[role], request, context.ledger, turn)).text
