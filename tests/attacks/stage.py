"""Plays an attack through everything that a model can play, and in the world, and keeps what was asked."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from simia_gym.assembly.suite import Suite
from simia_gym.llm.blocks import make_nonce, outside_blocks, read_blocks
from simia_gym.llm.transport.http import close_connections
from simia_gym.oracle import OracleServer
from simia_gym.types import Task

from ..proof.stage import Outcome, outcome_of, suite_of, take
from .book import Attack, retail_actions, webshop_actions

RETAIL, WEBSHOP = "simia/retail-v0", "simia/webshop-v0"

_SHAPES = {
    "ledger": r"system:domain,tools,schema(,examples)? user:state,call",
    "reference": r"system:domain,task,tools,reference( user:(said,)*call assistant:answer)* user:(said,)*call",
    "user": r"system:domain,task,customer user:begin( assistant:answer user:agent)*",
    "judge": r"system:domain,task user:record,criterion( assistant:answer user:violations)?",
}
_OUTSIDE = frozenset({"", "Answer this call."})


class Arena:
    """One domain, with models in every part that they can play, and with none.

    Args:
        env: The domain's environment.
        obedient: Models that obey what they can read outside the blocks; `requests` keeps what they are asked, and
            `systems` has the system messages of an episode without an attack.
        truthful: Address of models that obey nobody.
    """

    def __init__(self, env: str, obedient: OracleServer, truthful: str) -> None:
        self.env, self.obedient, self.truthful = env, obedient, truthful
        self.requests: list[dict[str, Any]] = []
        self.systems: set[str] = set()
        answer = obedient.oracle.answer

        def keep(raw: bytes, chance: Any) -> Any:
            self.requests.append(json.loads(raw))
            return answer(raw, chance)

        obedient.oracle.answer = keep  # type: ignore[method-assign]

    @cached_property
    def suites(self) -> Mapping[str, Suite]:
        """The ledger and the reference strategy with obedient models, and the world with a truthful customer."""
        talk: dict[str, Any] = {"user": "llm"} if self.env == RETAIL else {"max_turns": 9}
        # Of retail, code would answer most that is asked here.
        written: dict[str, Any] = {"ledger": {"render": "model"} if self.env == RETAIL else {}, "reference": {}}
        told = {"simulator": "llm", "judge": "llm-all", **talk}
        simulated = {
            name: suite_of(self.env, self.obedient.base_url, strategy=name, **told, **more)
            for name, more in written.items()
        }
        truthful = self.truthful if self.env == RETAIL else None
        return {**simulated, "world": suite_of(self.env, truthful, simulator="world", **talk)}

    @property
    def task(self) -> Task:
        """What the agent should do, and does not."""
        return self.suites["world"].tasks[0]

    @cached_property
    def tag(self) -> str:
        """The tag of the task's blocks."""
        domain = self.suites["world"].domain
        return make_nonce(domain.hash, domain.prepare(self.task).digest)

    @property
    def shared_tag(self) -> str:
        """The tag of the blocks in the prompts of the strategy ledger, which all tasks share."""
        return make_nonce(self.suites["world"].domain.hash)

    def actions(self, attack: Attack, simulator: str) -> list[str]:
        """What the attacker does."""
        simulated = simulator == "ledger" and "block call" in attack.name
        known = attack.for_tag(self.shared_tag if simulated else self.tag)
        return (retail_actions if self.env == RETAIL else webshop_actions)(known)

    def play(self, simulator: str, attack: Attack, *, really: bool = False) -> Outcome:
        """Play an attack on a simulator to its end; ``really``: the same actions in the world."""
        suite = self.suites["world" if really else simulator]
        return play(suite, self.task, self.actions(attack, simulator), group=attack.name)

    def check_prompts(self) -> set[str]:
        """Make sure that prompts have their form and that nothing but the environment speaks outside the blocks.

        Returns:
            Whose prompts there were.
        """
        parts = set()
        for body in self.requests:
            part = part_of(body)
            parts.add(part)
            tag = self.shared_tag if part == "ledger" else self.tag
            first, *others = body["messages"]
            assert first["content"] in self.systems
            for message in others:
                text = message["content"]
                assert outside_blocks(text).strip() in _OUTSIDE
                assert {item.nonce for item in read_blocks(text)} == {tag}
        return parts


def play(suite: Suite, task: Task, actions: Iterable[str], *, group: str = "") -> Outcome:
    """Play given actions until the episode ends or there are no more."""

    async def run() -> Outcome:
        try:
            return outcome_of(await take(suite, task, actions, group=group))
        finally:
            await close_connections()

    return asyncio.run(run())


def part_of(body: Mapping[str, Any]) -> str:
    """Whose prompt this is, by its form; every message must be blocks and the environment's own words."""
    shape = " ".join(
        f"{message['role']}:{','.join(item.kind for item in read_blocks(message['content']))}"
        for message in body["messages"]
    )
    parts = [part for part, form in _SHAPES.items() if re.fullmatch(form, shape)]
    assert len(parts) == 1, f"no prompt has this form: {shape}"
    return parts[0]
