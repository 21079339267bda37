"""What the tests of the TRL adapters share: scripted experts, and simulators that fail when told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from simia_gym.contracts import StepContext
from simia_gym.domain.world import World, WorldSimulator
from simia_gym.env import make_suite
from simia_gym.errors import Fault
from simia_gym.types import ToolCall, Transition

LIBRARY = Path(__file__).resolve().parent.parent.parent / "simia_gym" / "cli" / "templates" / "tools"
"""A small domain with short messages."""
DESK = "simia/custom-v0"
CLOSE = '<tool_call>{"name": "close_case", "arguments": {"outcome": "done", "note": ""}}</tool_call>'
LOOK = '<tool_call>{"name": "get_member", "arguments": {"member_id": "M-101"}}</tool_call>'


class BreakingSimulator(WorldSimulator):
    """The world, but some of its episodes break at a call or before the first message."""

    def __init__(self, world: World, *, at: str) -> None:
        super().__init__(world)
        self.at = at

    async def open(self, context: StepContext) -> Transition:
        """The first message."""
        if self.at == "reset":
            raise Fault("timeout", "nobody answers", role="simulator")
        return await super().open(context)

    async def call(self, call: ToolCall, context: StepContext) -> Transition:
        """A call."""
        if self.at == "call":
            raise Fault("timeout", "nobody answers", role="simulator")
        return await super().call(call, context)


def breaking(*places: str) -> Callable[[], WorldSimulator]:
    """Makes simulators of the library one after another: each episode's breaks at the next of the places, ``""`` for
    not at all. Two are made before, when the environment is loaded.
    """
    left = ["", "", *places]
    world = make_suite(DESK, {"domain": str(LIBRARY)}).domain.world
    assert world is not None

    def make() -> WorldSimulator:
        at = left.pop(0) if left else ""
        return BreakingSimulator(world, at=at) if at else WorldSimulator(world)

    return make


class ScriptedVllm:
    """Stands in for TRL's vLLM client, which needs a graphics card: writes the next text of each prompt's script.

    Args:
        tokenizer: The tokenizer.
        scripts: One for each episode, in the order of their first prompts: takes the number of the turn.
    """

    def __init__(self, tokenizer: Any, scripts: Sequence[Callable[[int], str]]) -> None:
        self.tokenizer, self.scripts = tokenizer, list(scripts)
        self.max_completion_length = 10_000
        self.rounds: list[int] = []
        self.limits: list[int] = []
        self._known: list[tuple[list[int], int, int]] = []

    def generate(self, prompts: list[list[int]], images: None, num_generations: int) -> tuple[Any, Any, Any, Any]:
        """Sample a turn for each prompt."""
        assert num_generations == 1
        self.rounds.append(len(prompts))
        self.limits.append(self.max_completion_length)
        turns, before = [], self._known
        self._known = []
        for place, prompt in enumerate(prompts):
            match = next(
                (item for item in before if prompt[: len(item[0])] == item[0] and len(prompt) > len(item[0])), None
            )
            number, turn = (place, 0) if match is None else (match[1], match[2] + 1)
            if match is not None:
                before.remove(match)
            ids = self.tokenizer.encode(self.scripts[number](turn), add_special_tokens=False)
            ids = [*ids, self.tokenizer.eos_token_id][: self.max_completion_length]
            self._known.append(([*prompt, *ids], number, turn))
            turns.append(ids)
        return prompts, turns, [[[-0.5] for _ in ids] for ids in turns], None


def script(*texts: str) -> Callable[[int], str]:
    """A script of some texts."""
    return lambda turn: texts[turn]


def trainer_with(vllm: ScriptedVllm, *, length: int = 5000, step: int = 0, **chat_template_kwargs: Any) -> Any:
    """As much of a trainer as a rollout looks at."""
    model = SimpleNamespace(training=True, config=SimpleNamespace(get_text_config=lambda: SimpleNamespace()))
    return SimpleNamespace(
        use_vllm=True,
        vllm_generation=vllm,
        accelerator=SimpleNamespace(num_processes=1),
        processing_class=vllm.tokenizer,
        eos_token_ids=[vllm.tokenizer.eos_token_id],
        max_completion_length=length,
        chat_template_kwargs=chat_template_kwargs,
        model=model,
        state=SimpleNamespace(global_step=step),
    )
