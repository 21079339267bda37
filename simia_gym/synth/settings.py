"""Settings of the synthesis of trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from simia_gym.common.settings import Settings, setting

Way = Literal["single", "played"]


class SynthSettings(Settings):
    """How many trajectories are made, in which way, and what they have to pass."""

    folder: Path = setting(
        Path("synth"), "Folder of all files; what is there already is used again.", option="out", metavar="DIR"
    )
    way: Way = setting(
        "single",
        "single: a teacher writes whole conversations; played: policy, user and world play them, and each is proven.",
    )
    target: int = setting(100, "Trajectories to keep of each kind of task.", metavar="N", ge=1)
    tries: int = setting(3, "At most this many attempts for each trajectory of the target.", metavar="N", ge=1)
    cut: bool = setting(False, "Keep the beginning of a trajectory before its first mistake, instead of dropping it.")
    near: float = setting(
        0.9,
        "Share of common word sequences from which two trajectories count as one; 0: exact copies only.",
        ge=0,
        le=1,
    )
    check: Literal["programs", "model"] = setting(
        "programs", "Who checks seeds and trajectories: programs alone, or the judge's model behind them."
    )
    benchmark: tuple[Path, ...] = setting(
        (), "File of a benchmark whose tasks no trajectory may hold, beside the domain's test tasks.", metavar="FILE"
    )
    least: float = setting(
        1.0, "Least reward of a played trajectory, and of a seed that has one.", metavar="R", ge=0, le=1
    )
    licence: str = setting("", "Licence of the seeds, where a seed names none.", metavar="NAME")
    redact: bool = setting(False, "Replace names, addresses and numbers of people in the seeds.")
    drawn: int = setting(0, "Random seed.", option="seed", metavar="S", ge=0)
    at_once: int = setting(
        32, "Trajectories written or played at the same time.", option="concurrency", metavar="C", ge=1, le=10_000
    )
