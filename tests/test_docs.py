"""Every code block of the README and of docs/ runs, and every transcript shown there is what really happens.

Python blocks of a page run one after another in one interpreter, shell blocks in one folder. A block whose title names
a file is written into it. A block after ``<!-- prints -->`` is what the shell block above it prints, with the exit code
in ``<!-- prints: exit 1 -->``. Blocks that install run in the continuous-integration script instead, and those that
train in `tests/rl/test_docs_training.py`. Where a page names an endpoint on this machine, an oracle answers there.

A block after ``<!-- transcript: ENV TASK POLICY [WIDTH] -->`` is compared with that episode's transcript, whose lines
are cut at the width; a line ``[...]`` stands for lines that are left out. A block after
``<!-- prompt: ENV TASK TOOL -->`` is compared with what a model is sent when the expert first calls that tool.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from simia_gym.assembly.resources import Resources
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.errors import Fault
from simia_gym.llm.types import ChatRequest, Reply
from simia_gym.oracle import serve_in_thread
from simia_gym.record.transcript import transcript_text
from simia_gym.rewards import report as explain
from simia_gym.rollout.play import play

from .docs_pages import CHECKOUT, PAGES, Block, blocks, page_id, write_into

INSTALLS = re.compile(r"^\s*(python3? -m venv|pip install|source|\. )")
ENDPOINTS = re.compile(r"http://127\.0\.0\.1:(8000|8765)/v1")


def run(command: list[str], cwd: Path, code: int = 0, first: Path | None = None) -> str:
    """What a command prints, which looks for programs in a folder of its own first, then beside this Python."""
    places = [str(place) for place in (first, Path(sys.executable).parent) if place is not None]
    path = os.pathsep.join([*places, os.environ.get("PATH", "")])
    env = {**os.environ, "PATH": path, "PYTHONWARNINGS": "error", "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == code, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout or done.stderr


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_block_says_what_it_is(page: Path) -> None:
    known = {"python", "bash", "text", "json", "yaml", "jsonl"}
    assert {block.language for block in blocks(page)} <= known


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """The address of an oracle, which takes the place of every model that a page speaks of."""
    with serve_in_thread() as server:
        yield server.base_url


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """A folder with a `simia` that has been loaded already; see `tests/docs_simia.py`."""
    with tempfile.TemporaryDirectory() as folder:  # a path that is short enough for a socket
        here, asked = Path(folder), CHECKOUT / "tests" / "docs_simia.py"
        words = [sys.executable, "-P", "-W", "error", str(asked), str(here / "socket")]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            program = here / "simia"
            line = f'exec {sys.executable} -IS {asked} {here / "socket"} "$@"'
            program.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
            program.chmod(0o755)
            yield here
            server.terminate()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_code_blocks_run(page: Path, tmp_path: Path, endpoint: str, programs: Path) -> None:
    here = [block for block in blocks(page) if not (block.needs_training or block.needs_openenv)]
    # On a machine where the package is installed, what is left of an installing line is what follows it.
    script: list[str] = []
    for block, after in zip(here, [*here[1:], None], strict=False):
        if block.title:
            write_into(tmp_path, block)
        elif block.language == "bash":
            script += [part for line in block.code.splitlines() for part in [without_install(line)] if part]
        shown = after is not None and after.note.startswith("prints")
        if script and (after is None or after.title or shown):
            text = ENDPOINTS.sub(endpoint, "\n".join(script))
            (tmp_path / "page.sh").write_text(f"set -euo pipefail\n{text}\n", encoding="utf-8")
            code = after.note.partition("exit ")[2] if after is not None else ""
            printed = run(["bash", "page.sh"], tmp_path, int(code or 0), programs)
            if after is not None and shown:
                assert_shown(after.code, printed)
            script.clear()
    python = [b.code for b in here if b.language == "python" and not b.title]
    if python:
        (tmp_path / "page.py").write_text(ENDPOINTS.sub(endpoint, "\n".join(python)), encoding="utf-8")
        run([sys.executable, "page.py"], tmp_path)


def without_install(line: str) -> str:
    parts = [part for part in re.split(r"\s*&&\s*", line) if not INSTALLS.match(part)]
    return " && ".join(part for part in parts if part.strip() not in ("pytest", "bash .ci/run"))


@pytest.mark.parametrize(
    ("page", "block"),
    [(page, block) for page in PAGES for block in blocks(page) if block.note.startswith("transcript:")],
    ids=lambda value: value.note if isinstance(value, Block) else page_id(value),
)
def test_transcripts_are_real(page: Path, block: Block, tmp_path: Path) -> None:
    _, env, task, policy, *width = block.note.split()
    whole = transcript(env, task, policy, *map(int, width))
    assert_shown(block.code, whole)


def assert_shown(shown: str, whole: str) -> None:
    """A block shows the whole text, but for what ``[...]`` stands for."""
    whole = "\n" + "\n".join(line.rstrip() for line in whole.strip().splitlines())
    pieces = f"\n{shown.strip()}".split("\n[...]")
    for piece in filter(None, pieces):
        _, found, whole = whole.partition(piece)
        assert found, piece
    assert not (whole and pieces[-1])


def transcript(env_id: str, task_id: str, policy_name: str, width: int = 400) -> str:
    """Play one episode and write it as the pages show it, with long observations cut."""
    suite = load_suite(EnvConfig(env_id, split="all"))
    episode = suite.episode()
    policy = suite.load_policy(policy_name)()
    asyncio.run(play(episode, suite.task(task_id), seed=0, policy=policy))
    assert episode.verdict is not None
    lines = [
        *transcript_text(episode.messages).split("\n"),
        "",
        *explain(episode.verdict).split("\n"),
    ]
    return "\n".join(line if len(line) <= width else f"{line[:width]} ..." for line in lines)


@pytest.mark.parametrize(
    ("page", "block"),
    [(page, block) for page in PAGES for block in blocks(page) if block.note.startswith("prompt:")],
    ids=lambda value: value.note if isinstance(value, Block) else page_id(value),
)
def test_prompts_are_real(page: Path, block: Block) -> None:
    _, env, task, tool = block.note.split()
    assert block.code.strip() == prompt(env, task, tool).strip()


class Listening:
    """A model that keeps what it is asked about one tool, and answers nothing."""

    name = "listening"

    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []

    async def complete(self, request: ChatRequest) -> Reply:
        self.messages = orjson.loads(request.prompt.messages_json())
        raise Fault("timeout", "nobody answers", role="simulator")


def prompt(env_id: str, task_id: str, tool: str) -> str:
    """What a model is sent, with long lines and most of the rules cut, and the tag of the blocks made plain."""
    model = Listening()
    config = EnvConfig(env_id, split="all", simulator="hybrid", routes={tool: "llm"}, model="m")
    suite = load_suite(config, Resources(models={"simulator": model}))
    policy = suite.load_policy("expert")()
    asyncio.run(play(suite.episode(), suite.task(task_id), seed=0, policy=policy))
    shown = []
    for message in model.messages:
        text = re.sub(r"(<<(?:data|end):\w+ )\w+>>", r"\1TAG>>", message["content"])
        found = re.search(r"(?m)^<<data:", text)
        start = len(text) if found is None else found.start()
        rules = text[:start].strip().splitlines()
        first = [*rules[:2], *(["[...]"] if len(rules) > 2 else [])]
        data = [line if len(line) <= 170 else f"{line[:160]} [...]" for line in text[start:].splitlines() if line]
        shown.append("\n".join([message["role"].upper(), *first, *data]))
    return "\n\n".join(shown)


@pytest.mark.parametrize("page", [*PAGES, *sorted(CHECKOUT.glob("*.md"))], ids=page_id)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page_id(page)} links to {target}"


def test_every_invariant_names_tests_that_exist() -> None:
    sections = (CHECKOUT / "INVARIANTS.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert len(sections) >= 6
    for section in sections:
        named = re.findall(r"^\* `(tests/\S+\.py)::(test_\w+)`$", section, re.MULTILINE)
        assert named, f"nothing proves: {section.splitlines()[0]}"
        for file, name in named:
            source = (CHECKOUT / file).read_text(encoding="utf-8")
            assert re.search(rf"^(async )?def {name}\(", source, re.MULTILINE), f"{file} has no {name}"
