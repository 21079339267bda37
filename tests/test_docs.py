"""Every code block of the README and of docs/ runs, and every transcript shown there is what really happens.

Python blocks of a page run one after another in one interpreter, shell blocks in one folder. Blocks that install run
in the continuous-integration script instead. A block after ``<!-- transcript: ENV TASK POLICY -->`` is compared with
the transcript of that episode.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from simia_gym.config import EnvConfig
from simia_gym.env import transcript_text
from simia_gym.policies import load_policy
from simia_gym.rewards.explain import report as explain
from simia_gym.rollout.play import play
from simia_gym.suite import load_suite

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]
INSTALLS = re.compile(r"^\s*(python3? -m venv|pip install|source|\. )")
BLOCK = re.compile(r"(?:<!-- (?P<note>[^>]*) -->\n+)?```(?P<language>\w*)[^\n]*\n(?P<code>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    note: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [Block(m["language"], m["code"], (m["note"] or "").strip()) for m in BLOCK.finditer(text)]


def run(command: list[str], cwd: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    env = {**os.environ, "PATH": path, "PYTHONWARNINGS": "error", "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def page_id(page: Path) -> str:
    return page.relative_to(CHECKOUT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_block_says_what_it_is(page: Path) -> None:
    known = {"python", "bash", "text", "json", "yaml", "jsonl"}
    assert {block.language for block in blocks(page)} <= known


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_code_blocks_run(page: Path, tmp_path: Path) -> None:
    shell = [b.code for b in blocks(page) if b.language == "bash"]
    # On a machine where the package is installed, what is left of an installing line is what follows it.
    lines = [part for code in shell for line in code.splitlines() for part in [without_install(line)] if part]
    if lines:
        (tmp_path / "page.sh").write_text("set -euo pipefail\n" + "\n".join(lines) + "\n", encoding="utf-8")
        run(["bash", "page.sh"], tmp_path)
    python = [b.code for b in blocks(page) if b.language == "python"]
    if python:
        (tmp_path / "page.py").write_text("\n".join(python), encoding="utf-8")
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
    _, env, task, policy = block.note.split()
    assert block.code.strip() == transcript(env, task, policy).strip()


def transcript(env_id: str, task_id: str, policy_name: str) -> str:
    """Play one episode and write it as the pages show it, with long observations cut."""
    suite = load_suite(EnvConfig(env_id, split="all"))
    episode = suite.episode()
    policy = load_policy(policy_name, suite.domain.config.policies)()
    asyncio.run(play(episode, suite.task(task_id), seed=0, policy=policy))
    assert episode.verdict is not None
    lines = [
        line if len(line) <= 400 else f"{line[:400]} ..." for line in transcript_text(episode.messages).split("\n")
    ]
    return "\n".join(lines) + "\n\n" + explain(episode.verdict)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page_id(page)} links to {target}"
