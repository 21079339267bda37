"""`simia new-domain`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from simia_gym.cli.options import AsJson
from simia_gym.common.output import Output
from simia_gym.errors import InputError

TEMPLATES = Path(__file__).parent / "templates"
_NAME = re.compile(r"^name: \w+", re.MULTILINE)


def write_domain(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder to make.")],
    *,
    kind: Annotated[
        Literal["tools", "service"], typer.Option(help="Tools alone, or customer service declared in service.yaml.")
    ] = "tools",
    json: AsJson = False,
) -> int:
    """Write a small, complete, commented domain to start from.

    Raises:
        InputError: The folder exists and is not empty.
    """
    output = Output(json)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise InputError("exists already and is not an empty folder", where=str(path), fix="Give a new path.")
    written: list[Path] = []
    # Not copytree, which copies the modes: an installed package may be read-only.
    template = TEMPLATES / kind
    for source in sorted(template.rglob("*")):
        if source.is_file() and source.parent.name != "__pycache__":
            target = path / source.relative_to(template)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            written.append(target)
    manifest = path / "domain.yaml"
    named = _NAME.sub(f"name: {_domain_name(path)}", manifest.read_text(encoding="utf-8"), count=1)
    manifest.write_text(named, encoding="utf-8")
    output.say(f"{path}: a small, complete domain, a library's desk")
    typed = shlex.quote(str(path))
    output.say(f"  check it   simia check {typed}")
    output.say(f"  run it     simia rollout {typed}")
    output.say(f"  use it     gymnasium.make('simia/custom-v0', domain={str(path)!r})")
    output.say(f"  change it  {path / 'README.md'} says what each file is")
    output.result({"path": str(path), "files": [str(item.relative_to(path)) for item in written]})
    return 0


def _domain_name(path: Path) -> str:
    """A domain name made from the folder's name: lower case, with underscores."""
    name = re.sub(r"[^a-z0-9_]+", "_", path.resolve().name.lower()).strip("_")
    return name if re.match(r"[a-z]", name) else f"domain_{name}".rstrip("_")
