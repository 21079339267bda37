"""What a policy is shown of the history is declared; the ledger holds everything."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
import pytest

from simia_gym.actions import get_grammar
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import InputError
from simia_gym.policies import PolicyOptions
from simia_gym.policies.llm import LLMPolicy
from simia_gym.rollout.play import play
from simia_gym.types import Calls, Message, ToolCall
from simia_gym.views.history import History

from ..model_server import Answer, serving
from .conftest import call, edit

ADD, BAD, STOP = call("add", name="a", amount=3), "Hello.", call("stop")
SHOWN = get_grammar("tools").render(Calls((ToolCall("add", {"name": "a", "amount": 3}),)))
TASK = "Bring counter a to 3."
NOBODY = "Error: nobody reads messages here; act in the form that was described."
PAGES = [
    f"{TASK}\n\nPrevious actions:\nNone",
    f"3\n\nTask: {TASK}\n\nPrevious actions:\n{SHOWN}",
    f"{NOBODY}\n\nTask: {TASK}\n\nPrevious actions:\n{SHOWN}\n{BAD}",
]
STEPS = [
    f"{TASK}\n\nHistory:\nNone",
    f"{TASK}\n\nHistory:\n - Step 0: {SHOWN} -> [3]",
    f"{TASK}\n\nHistory:\n - Step 0: {SHOWN} -> [3]\n - Step 1: {BAD} -> [{NOBODY}]",
]


def always(text: str) -> Answer:
    return lambda asked: text


def last_words(history: History) -> str:
    return f"{len(history.done)}: {history.observation}"


class Notes:
    """Plays three actions, the first after a thought, and notes what it is shown."""

    whole_transcript = False

    def __init__(self) -> None:
        self.left, self.shown = [f"<think>hm</think>{ADD}", BAD, STOP], list[list[Message]]()

    def act(self, messages: Sequence[Message]) -> str:
        self.shown.append([*messages])
        return self.left.pop(0)


@pytest.mark.parametrize(
    ("declared", "setting", "texts"),
    [
        ("page", None, PAGES),
        ("transcript", "steps", STEPS),
        (f"{__name__}:last_words", None, [f"0: {TASK}", "1: 3", f"2: {NOBODY}"]),
    ],
)
async def test_a_policy_is_shown_one_prompt_a_turn(
    folder: Path, declared: str, setting: str | None, texts: list[str]
) -> None:
    edit("domain.yaml", "max_turns: 6", f"max_turns: 6\nhistory: {declared}")(folder)
    suite = load_suite(EnvConfig(CUSTOM, domain=folder, history=setting))
    episode, policy = suite.episode(), Notes()
    await play(episode, suite.tasks[0], seed=1, policy=policy)
    system = {"role": "system", "content": suite.domain.prompts["full"]}
    assert policy.shown == [[system, {"role": "user", "content": text}] for text in texts]
    assert episode.ledger.events[0]["history"] == (setting or declared)
    assert len(episode.messages) == 8
    assert {event["type"] for event in episode.ledger.events} >= {"message", "action", "transition", "invalid"}
    async with serving(*map(always, (ADD, BAD, STOP))) as server:
        options = PolicyOptions(model="m", base_url=server.url, api_key="k")
        await play(suite.episode(), suite.tasks[0], seed=1, policy=LLMPolicy(options))
    assert [asked.contents for asked in server.asked] == [[system["content"], text] for text in texts]


@pytest.mark.parametrize(("declared", "setting"), [("page", "transcript"), ("page", None), ("transcript", None)])
async def test_the_whole_transcript_is_shown_by_default_or_where_a_policy_asks_for_it(
    folder: Path, declared: str, setting: str | None
) -> None:
    edit("domain.yaml", "max_turns: 6", f"max_turns: 6\nhistory: {declared}")(folder)
    suite = load_suite(EnvConfig(CUSTOM, domain=folder, history=setting))
    episode, policy = suite.episode(), Notes()
    policy.whole_transcript = suite.history is not None
    await play(episode, suite.tasks[0], seed=1, policy=policy)
    assert policy.shown == [episode.messages[:count] for count in (2, 4, 6)]
    assert ("history" in episode.ledger.events[0]) is (suite.history is not None)


def test_the_info_has_the_prompt_beside_the_new_messages(folder: Path) -> None:
    env = gym.make(CUSTOM, domain=str(folder), history="page")
    _, info = env.reset(seed=1)
    assert (info["history"], info["shown"][1]["content"]) == ("page", PAGES[0])
    _, _, _, _, info = env.step(ADD)
    assert ([each["content"] for each in info["messages"]], info["shown"][1]["content"]) == (["3"], PAGES[1])
    _, _, terminated, _, info = env.step(STOP)
    assert (terminated, "shown" in info) == (True, False)
    _, info = gym.make(CUSTOM, domain=str(folder)).reset(seed=1)
    assert {"history", "shown"}.isdisjoint(info)


def test_a_history_that_does_not_exist_is_named(folder: Path) -> None:
    with pytest.raises(InputError, match=r"history: there is no history 'pages'. Did you mean 'page'"):
        load_suite(EnvConfig(CUSTOM, domain=folder, history="pages"))
