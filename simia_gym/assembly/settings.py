"""What an episode of an environment is, as data that can be written to a record and read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from simia_gym.common.settings import Settings, setting
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import InputError
from simia_gym.types import Feedback

MOST = 10**12
"""Most episodes, turns and generated tasks."""
MODELS = "Models"
WORLD = "World"


SimulatorName = Literal["auto", "world", "llm", "hybrid", "replay"]


class EnvConfig(Settings):
    """What an episode is: every setting that changes one, and none besides."""

    FORMER: ClassVar[Mapping[str, str]] = {"recorded": "replay_from"}

    env: str
    split: Literal["train", "test", "all"] = setting("train", "Which fixed tasks.", panel=WORLD)
    generated: int = setting(
        0, "Generated tasks besides them; of split all, half for each.", metavar="N", panel=WORLD, ge=0, le=MOST
    )
    data: str | Path | None = setting(None, "Your own data for the domain.", metavar="DIR", panel=WORLD)
    domain: str | Path | None = setting(None, f"Folder of the domain of {CUSTOM}.", metavar="DIR", panel=WORLD)
    simulator: SimulatorName = setting(
        "auto",
        "Who answers tool calls: the domain's code, a model, code where there is some and else the model, a record; "
        "auto: the model where one is configured, else the code.",
        panel=WORLD,
    )
    user: str | None = setting(
        None, "Who plays the user: scripted, brief, llm.", metavar="KIND", panel=WORLD, unset="the domain's"
    )
    prompt: Literal["full", "compact"] = setting("full", "How much the system message says.", panel=WORLD)
    max_turns: int | None = setting(None, "Turn limit.", metavar="N", panel=WORLD, unset="the domain's", ge=1, le=MOST)
    options: Mapping[str, Any] = setting({}, "Option of the domain.", option="option", metavar="KEY=VALUE", panel=WORLD)
    strategy: Literal["auto", "ledger", "reference"] = setting(
        "auto",
        "How a model simulates: ledger (it proposes changes; code checks them and keeps the state) or reference (it "
        "continues the conversation after a reference trajectory; no state is kept).",
        panel=MODELS,
    )
    judge: Literal["llm", "llm-all"] | None = setting(
        None, "Who judges: llm what no program can, llm-all every criterion.", panel=WORLD, unset="programs only"
    )
    votes: int = setting(1, "Judge's votes on a criterion that decides alone; odd.", metavar="N", panel=MODELS, ge=1)
    feedback: Feedback = setting(
        "terse", "What errors say: terse, as the real system, or explain: also why and what would do.", panel=WORLD
    )
    model: str | None = setting(None, "Model of simulator, user and judge.", metavar="NAME", panel=MODELS)
    roles: Mapping[str, Mapping[str, Any]] = setting({}, "Settings of the models by role.", option="")
    routes: Mapping[str, Literal["world", "llm"]] = setting(
        {}, "Who answers a tool's calls in a hybrid: world, llm.", option="route", metavar="TOOL=KIND", panel=MODELS
    )
    pins: bool = setting(
        True, "In a group, the same call in the same state gets the same answer of the model.", panel=MODELS
    )
    replay_from: str | Path | None = setting(
        None, "The record that --simulator replay answers from.", metavar="FILE", panel=WORLD
    )
    shadow: bool = setting(
        False, "Compare every answer of a model with the world's, and count the differences.", panel=MODELS
    )
    grammar: str | None = setting(
        None, "Which grammar, of a domain that has several.", metavar="NAME", panel=WORLD, unset="its first"
    )

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other or would change nothing.

        Raises:
            InputError: Names the setting and what is missing.
        """
        if self.votes % 2 == 0:
            raise InputError(f"votes is {self.votes}", where="votes", fix="Use an odd number, such as 1 or 3.")
        if self.routes and self.simulator != "hybrid":
            what = f"routes are for the hybrid, and simulator is {self.simulator!r}"
            raise InputError(what, where="routes", fix="Add simulator='hybrid' (--simulator hybrid).")
        if self.replay_from is not None and self.simulator != "replay":
            what = f"a record answers in simulator 'replay' only, and simulator is {self.simulator!r}"
            raise InputError(what, where="replay_from", fix="Add simulator='replay' (--simulator replay).")
        if self.votes != 1 and self.judge is None:
            raise InputError("nobody judges, so nobody votes", where="votes", fix="Add judge='llm' (--judge llm).")
        if self.env == CUSTOM and not self.domain:
            raise InputError(f"{CUSTOM} needs the folder of your domain", where="domain", fix="Pass domain=PATH.")
        if self.env != CUSTOM and self.domain:
            raise InputError(f"domain= is for {CUSTOM} only", where="domain", fix=f"Use {CUSTOM} with it.")
