"""The options of an oracle, including the faults and mistakes that it injects."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from simia_gym.common.settings import Settings, setting

FaultKind = Literal["rate_limit", "server_error", "hang", "reset", "truncated", "malformed", "empty", "cut"]
FAULTS: tuple[FaultKind, ...] = get_args(FaultKind)
"""Kinds of transport faults, in order: status 429 with ``Retry-After: 0``; status 500 or 503; no response for
`OracleOptions.hang` seconds; a connection reset; a truncated HTTP body; an HTTP body that is not JSON; a completion
with empty content; a completion whose content is truncated JSON."""
TeacherMistake = Literal[
    "contradiction", "denied_write", "invented_id", "missing_observation", "wrong_total", "wrong_value", "cut_end"
]
TEACHER_MISTAKES: tuple[TeacherMistake, ...] = get_args(TeacherMistake)
"""Mistakes of a teacher, in order: a row is shown with another value; a row is shown as before a confirmed change; an
id in a call that was never shown; an observation left out; an amount that is not the sum of its parts; a value that is
shown once and is wrong, which no program can see; a text without its end."""
_MOST = 1e9


class OracleOptions(Settings):
    """The options of an oracle. Rates are probabilities from 0 to 1."""

    host: str = setting("127.0.0.1", "Address to listen on.", metavar="H")
    port: int = setting(0, "Port to listen on; 0: a free one.", metavar="P", ge=0, lt=65536)
    domains: tuple[Path | str, ...] = setting(
        (), "Folder of a domain; hides an installed domain of the same name.", option="domain", metavar="DIR"
    )
    data: Path | str | None = setting(None, "Data directory for domains that need data of your own.", metavar="DIR")
    data_free: bool = setting(
        False, "Read no task and no initial state: answer from the prompt and the World class.", option="without-data"
    )
    model: str | None = setting(None, "Serve this model name only.", metavar="NAME")
    context_tokens: int | None = setting(None, "Context length; longer prompts are refused.", metavar="N", ge=1)
    api_key: str | None = setting(None, "API key that requests must send.", metavar="KEY", repr=False)
    latency_ms: float = setting(
        0.0, "Latency of a response, in milliseconds; the median with --latency-sigma.", metavar="MS", ge=0, lt=_MOST
    )
    latency_sigma: float = setting(0.0, "Sigma of a lognormal latency.", metavar="S", ge=0, lt=_MOST)
    fault_rate: float = setting(0.0, "Share of requests with a transport fault.", metavar="R", ge=0, le=1)
    faults: tuple[FaultKind, ...] = setting(
        (), f"Inject only this kind of fault: {', '.join(FAULTS)}.", option="fault", metavar="KIND"
    )
    hang: float = setting(
        30.0, "Seconds until the connection of a hanging request is dropped.", metavar="S", ge=0, lt=_MOST
    )
    plausible: bool = setting(
        False, "Vary all that the prompt leaves open: order, spelling, wording, signs and rows that no text names."
    )
    wrong_value_rate: float = setting(
        0.0, "Share of answers with operations in which one value is altered.", metavar="R", ge=0, le=1
    )
    missed_write_rate: float = setting(
        0.0, "Share of answers with operations in which one is missing.", metavar="R", ge=0, le=1
    )
    spurious_write_rate: float = setting(
        0.0, "Share of answers with an operation outside the tool's write set.", metavar="R", ge=0, le=1
    )
    error_with_effects_rate: float = setting(
        0.0,
        "Share of error answers, and of answers with operations, that become an error with operations.",
        metavar="R",
        ge=0,
        le=1,
    )
    wrong_observation_rate: float = setting(
        0.0, "Share of answers whose observation says another value than the state.", metavar="R", ge=0, le=1
    )
    teacher_mistake_rate: float = setting(
        0.0, "Share of trajectories of a teacher with a mistake.", metavar="R", ge=0, le=1
    )
    teacher_mistakes: tuple[TeacherMistake, ...] = setting(
        (),
        f"Only this kind of mistake of a teacher: {', '.join(TEACHER_MISTAKES)}.",
        option="teacher-mistake",
        metavar="KIND",
    )
    stubborn: bool = setting(False, "Apply these rates to repaired answers, too.")
    lenient_judge: bool = setting(False, "The judge finds every criterion met, with a real quote.")
    no_structured: bool = setting(False, "Refuse response_format.")
    no_json_schema: bool = setting(False, "Refuse response_format of type json_schema.")
    obedient: bool = setting(False, "Obey 'ORACLE: ...' outside the data blocks, to test prompt injection.")
    seed: int = setting(0, "Random seed.", metavar="S")
