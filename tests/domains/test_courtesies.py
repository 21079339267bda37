"""A customer with an open wish stays, whatever courtesies the agent says, and agents in any style are understood."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path

import pytest

from simia_gym import evaluate
from simia_gym.common.event_loop import run_sync
from simia_gym.common.files import read_yaml
from simia_gym.service import Bent, ServiceExpert
from simia_gym.service.bent import Moment, Turn
from simia_gym.types import Task, ToolCall, Verdict

from ..sweeps import sizes
from .table import World
from .test_policies import verdicts

COURTESIES: list[str] = read_yaml(Path(__file__).parent / "courtesies.yaml")
ASKED = re.compile(r" (?:Shall I|Do you confirm)[^?]*\?$")
Bend = Callable[[Bent, Moment, str | ToolCall], Sequence[Turn]]
MOMENTS = {"first": "", "before the proposal": "propose", "between two wishes": "close"}


def played(serving: World, tasks: Sequence[Task], bend: Bend) -> list[tuple[Task, Verdict]]:
    """What the expert of a service gets when its steps are bent."""
    expert = serving.suite(simulator="world").load_policy("expert")
    assert isinstance(expert, type)
    assert issubclass(expert, ServiceExpert)
    return verdicts(serving, type("Own", (Bent,), {"service": expert.service, "bend": bend}), tasks)


def succeeded(found: Sequence[tuple[Task, Verdict]]) -> float:
    return sum(verdict.success for _, verdict in found) / len(found)


@pytest.mark.parametrize("place", MOMENTS)
@pytest.mark.parametrize("number", sizes(12, 40))
def test_the_expert_succeeds_with_courtesies(serving: World, place: str, number: int) -> None:
    assert len(COURTESIES) >= 40
    courtesies = cycle(COURTESIES)

    def bend(self: Bent, moment: Moment, step: str | ToolCall) -> Sequence[Turn]:
        here = self._read <= 2 if place == "first" else moment == MOMENTS[place]
        return [next(courtesies), step] if here else [step]

    assert succeeded(played(serving, serving.mixed(number), bend)) >= 0.97


def test_nobody_leaves_at_a_courtesy_with_a_wish_open(serving: World) -> None:
    episode = serving.suite(simulator="world").episode()
    for task in [task for task in serving.tasks(40) if task.gold][:5]:
        for courtesy in COURTESIES:
            run_sync(episode.reset(task, seed=1), inline=episode.inline)
            for _ in range(2):
                run_sync(episode.step(courtesy), inline=episode.inline)
                assert not episode.ended, courtesy


def listed(text: str) -> str:
    return "\n".join(f"- {part}" for part in re.split(r"(?<=[.?!]) (?=[A-Z])", text))


STYLES: dict[str, Callable[[Moment, str], str]] = {
    "curt": lambda moment, text: ASKED.sub(" OK?", text),
    "formal": lambda moment, text: f"Dear customer, thank you for your message.\n\n{text}\n\nKind regards,\nThe team",
    "lists": lambda moment, text: listed(text),
    "headings": lambda moment, text: f"## Next step\n\n{text}\n\n---",
    "emoji": lambda moment, text: f"😊 {text} 🙏",
    "announces": lambda moment, text: f"Let me see. Thank you for the details. {text}",
    "asks how it sounds": lambda moment, text: ASKED.sub(" How does that sound?", text),
    "asks several questions": lambda moment, text: f"{text} Does that make sense? Any questions?",
    "chat": lambda moment, text: (
        f"Of course! Let me help you with that. 😊\n\n## Here is where we are\n\n{listed(text)}\n\n**Any questions?**"
        " Does that make sense? I am here to help!"
    ),
    "sums up": lambda moment, text: f"To sum up where we are: you have contacted us for help.\n\n{text}",
}


def speaking(expert: type[ServiceExpert], style: Callable[[Moment, str], str]) -> type[Bent]:
    """The expert of a service in a style."""

    def bend(self: Bent, moment: Moment, step: str | ToolCall) -> Sequence[Turn]:
        return [style(moment, step) if isinstance(step, str) else step]

    return type("Styled", (Bent,), {"service": expert.service, "bend": bend})


@pytest.mark.parametrize("style", STYLES)
def test_the_expert_succeeds_in_any_style(serving: World, style: str) -> None:
    """In few tasks; `benchmarks.styles` plays many, and its result is below."""

    def bend(self: Bent, moment: Moment, step: str | ToolCall) -> Sequence[Turn]:
        return [STYLES[style](moment, step) if isinstance(step, str) else step]

    assert succeeded(played(serving, serving.mixed(8), bend)) >= 0.97


@pytest.mark.slow
def test_who_talks_as_chat_models_do_scores_as_who_is_terse(serving: World) -> None:
    expert = serving.suite(simulator="world").load_policy("expert")
    assert isinstance(expert, type)
    assert issubclass(expert, ServiceExpert)
    scores = []
    for style in ("chat", "curt"):
        agent = speaking(expert, STYLES[style])
        report = evaluate(serving.env, agent, split="test", concurrency=1, **serving.settings)
        scores.append(report["series"][0])
    assert [one["invalid"] for one in scores] == [0, 0]
    chat, curt = (one["pass_at_1"]["value"] for one in scores)
    assert curt >= 0.97
    assert abs(chat - curt) <= 0.03


def test_the_stored_result_is_of_these_styles() -> None:
    rows = json.loads((Path(__file__).parents[2] / "benchmarks" / "results" / "styles.json").read_text("utf-8"))
    plain = {row["domain"]: row["succeeded"] for row in rows if row.get("style") == "plain"}
    assert {(row["domain"], row["style"]) for row in rows if "style" in row} == {
        (domain, style) for domain in plain for style in ("plain", *STYLES)
    }
    assert {"simia/airline-v0", "simia/retail-v0", "service"} == plain.keys()
    for row in rows:
        assert "style" not in row or row["succeeded"] >= 0.97 * plain[row["domain"]], row


def test_a_yes_to_something_else_earns_nothing(serving: World) -> None:
    def bend(self: Bent, moment: Moment, step: str | ToolCall) -> Sequence[Turn]:
        other = "Shall I put you on our mailing list (yes/no)?"
        return [ASKED.sub(f" {other}", step) if isinstance(step, str) and moment == "propose" else step]

    tasks = [task for task in serving.tasks(60) if task.gold and not task.kind.startswith(("refuse", "transfer"))]
    assert succeeded(played(serving, tasks, bend)) <= 0.05
