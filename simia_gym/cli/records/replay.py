"""`simia replay`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simia_gym.cli.options import AsJson
from simia_gym.common.formatting import one_line, shown
from simia_gym.common.output import Output
from simia_gym.errors import InputError
from simia_gym.rollout.replay import Proof, replay_file

_SHOWN = 300


def replay_record(
    file: Annotated[Path, typer.Argument(metavar="RECORD", help="A record that `simia rollout` wrote.")],
    *,
    data: Annotated[str | None, typer.Option(metavar="DIR", help="Your own data for the domain.")] = None,
    json: AsJson = False,
) -> int:
    """Run a record again and prove it bit for bit, or show the first divergence.

    What a tool declares as unrepeatable (masks) is not compared; the result says where equality held only up to masks.

    Returns:
        The exit code: 0, or 1 if the replay of a record diverges.

    Raises:
        InputError: The file or its environment cannot be read.
    """
    output = Output(json)
    records = proven = masked = 0
    first: Proof | None = None
    with output.console.status("replaying") as status:
        for proof in replay_file(file, data=data):
            records += 1
            proven += proof.proven
            masked += proof.masked > 0
            first = first or (None if proof.proven else proof)
            status.update(f"replaying: proven {proven} of {records}")
    if not records:
        raise InputError("holds no record", where=str(file), fix="Give a file that `simia rollout` wrote.")
    output.say(f"{file}: proven {proven} of {records}" + (f", {masked} of them up to masks" if masked else ""))
    if first is not None:
        output.say(_describe(file, first))
    names = ("line", "task", "event", "path", "expected", "got", "reason")
    divergence = None if first is None else {name: getattr(first, name) for name in names}
    output.result({"file": str(file), "records": records, "proven": proven, "masked": masked, "divergence": divergence})
    return 0 if first is None else 1


def _describe(file: Path, proof: Proof) -> str:
    place = f" at {proof.path}" if proof.event is None and proof.path else ""
    text = f"first divergence: {file}:{proof.line}, task {proof.task}{place}: {one_line(proof.reason)}"
    if proof.event is None:
        text += f"\n  expected {shown(proof.expected, _SHOWN)}\n  got      {shown(proof.got, _SHOWN)}"
    return text
