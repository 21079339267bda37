"""The settings that define an environment's episodes; they are written to records and read back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from simia_gym.actions.dialects.names import DialectSetting
from simia_gym.common.settings import Settings, setting
from simia_gym.domain.registration import CUSTOM
from simia_gym.errors import InputError
from simia_gym.types import Feedback, SplitChoice, Writer

MOST = 10**12
"""Maximum number of episodes, turns and generated tasks."""
MODELS = "Models"
WORLD = "World"


SimulatorName = Literal["auto", "world", "llm", "hybrid", "replay"]


class EnvConfig(Settings):
    """The settings that define an environment's episodes, and no others.

    Raises:
        InputError: A setting is invalid, contradicts another or has no effect; the message names it and the fix.
    """

    env: str
    split: SplitChoice = setting(
        "train", "Split of the tasks: dev is for choices during a training, all is train and test.", panel=WORLD
    )
    generated: int = setting(
        0,
        "Number of generated tasks, added to the fixed ones; with split all, half of them per split; with split dev, "
        "added to its 20.",
        metavar="N",
        panel=WORLD,
        ge=0,
        le=MOST,
    )
    without_dev: bool = setting(
        False, "Leave out of train the fifth that is dev in a domain without a task generator.", panel=WORLD
    )
    data: str | Path | None = setting(None, "Folder of custom data for the domain.", metavar="DIR", panel=WORLD)
    domain: str | Path | None = setting(None, f"Folder of the domain of {CUSTOM}.", metavar="DIR", panel=WORLD)
    simulator: SimulatorName = setting(
        "auto",
        "What answers tool calls: world (the domain's code), llm (a model), hybrid (code for the tools that have it, "
        "a model for the others), replay (a record); auto: llm if a model is configured, else world.",
        panel=WORLD,
    )
    user: str | None = setting(
        None, "User simulator: scripted, brief or llm.", metavar="KIND", panel=WORLD, unset="the domain's"
    )
    prompt: Literal["full", "compact"] = setting("full", "Length of the system message.", panel=WORLD)
    history: str | None = setting(
        None,
        "What a policy is shown of the history: transcript, page (the newest observation, and the actions so far), "
        "steps (every action and observation in one prompt) or file.py:function.",
        metavar="NAME",
        panel=WORLD,
        unset="the domain's",
    )
    max_turns: int | None = setting(None, "Turn limit.", metavar="N", panel=WORLD, unset="the domain's", ge=1, le=MOST)
    options: Mapping[str, Any] = setting({}, "Option of the domain.", option="option", metavar="KEY=VALUE", panel=WORLD)
    strategy: Literal["auto", "ledger", "reference"] = setting(
        "auto",
        "How a model simulates: ledger (it proposes changes; code checks them and keeps the state) or reference (it "
        "continues the conversation after a reference trajectory; no state is kept).",
        panel=MODELS,
    )
    judge: Literal["llm", "llm-all"] | None = setting(
        None,
        "LLM judge: llm for the criteria that no program can judge, llm-all for every criterion.",
        panel=WORLD,
        unset="programs only",
    )
    votes: int = setting(
        1,
        "Number of judge votes (odd) on each criterion that can decide the reward by itself (required or forbidden).",
        metavar="N",
        panel=MODELS,
        ge=1,
    )
    feedback: Feedback = setting(
        "terse", "Error messages: terse (as the real system) or explain (also the reason and a fix).", panel=WORLD
    )
    model: str | None = setting(None, "Model of simulator, user and judge.", metavar="NAME", panel=MODELS)
    roles: Mapping[str, Mapping[str, Any]] = setting({}, "Settings of the models by role.", option="")
    routes: Mapping[str, Literal["world", "llm"]] = setting(
        {},
        "What answers a tool with the simulator hybrid: world or llm.",
        option="route",
        metavar="TOOL=KIND",
        panel=MODELS,
    )
    pins: bool = setting(
        True, "In a group, the model gives the same answer to the same call in the same state.", panel=MODELS
    )
    render: Writer = setting(
        "code",
        "Who writes what a tool with a rendering rule returns: code (the model is not asked for a read that follows"
        " from the state) or model (what the model writes is what the agent sees).",
        panel=MODELS,
    )
    replay_from: str | Path | None = setting(
        None, "The record whose answers --simulator replay returns.", metavar="FILE", panel=WORLD
    )
    shadow: bool = setting(
        False, "Compare every answer of the model with the world's and count the differences.", panel=MODELS
    )
    shadow_faults: bool = setting(
        False,
        "Compare as shadow does; an answer whose outcome or changes are not the world's is a fault, so that a wrong"
        " state is never a zero.",
        panel=MODELS,
    )
    grammar: str | None = setting(
        None, "Grammar, if the domain has several.", metavar="NAME", panel=WORLD, unset="its first"
    )
    dialect: DialectSetting = setting(
        None,
        "Model family in whose own format calls are executed, too; else a reply in it is an error that names it.",
        panel=WORLD,
        unset="the grammar's formats alone",
    )

    @property
    def shadowed(self) -> bool:
        """Whether the answers of a model are compared with the world's."""
        return self.shadow or self.shadow_faults

    def __post_init__(self) -> None:
        """Check that no settings contradict each other or have no effect."""
        if self.votes % 2 == 0:
            raise InputError(f"votes is {self.votes}", where="votes", fix="Use an odd number, such as 1 or 3.")
        if self.without_dev and self.split in ("dev", "test"):
            what = f"without_dev leaves tasks out of train, but split is {self.split!r}"
            raise InputError(what, where="without_dev", fix="Leave it out, or choose the split train.")
        if self.routes and self.simulator != "hybrid":
            what = f"routes are for the simulator 'hybrid', but simulator is {self.simulator!r}"
            raise InputError(what, where="routes", fix="Add simulator='hybrid' (--simulator hybrid).")
        if self.replay_from is not None and self.simulator != "replay":
            what = f"replay_from is for the simulator 'replay', but simulator is {self.simulator!r}"
            raise InputError(what, where="replay_from", fix="Add simulator='replay' (--simulator replay).")
        if self.votes != 1 and self.judge is None:
            raise InputError("votes has no effect without a judge", where="votes", fix="Add judge='llm' (--judge llm).")
        if self.shadow_faults and self.strategy == "reference":
            what = "shadow_faults is for states, and the strategy reference keeps none"
            raise InputError(what, where="shadow_faults", fix="Leave it out, or use strategy='ledger'.")
        if self.env == CUSTOM and not self.domain:
            raise InputError(f"{CUSTOM} needs the folder of your domain", where="domain", fix="Pass domain=PATH.")
        if self.env != CUSTOM and self.domain:
            raise InputError(f"domain= is for {CUSTOM} only", where="domain", fix=f"Use {CUSTOM} with it.")
