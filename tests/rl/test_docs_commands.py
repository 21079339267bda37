"""The commands on the pages, read without running them and without the libraries of training."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ..docs_pages import PAGES, blocks, commands, page_id, read_command

KNOWN = {"export", "pip", "python", "ray", "simia", "vllm"}
COMMAND = re.compile(r"^\s*(?:\w*\$\s*)?(?:simia|ray|vllm|pip|python) ", re.MULTILINE)
TRAINING = ("docs/training.md", "docs/sft.md", "docs/trl.md", "docs/ray.md", "docs/other-trainers.md")


@pytest.mark.parametrize("page", PAGES, ids=page_id)
@pytest.mark.sampled
def test_commands_exist_with_all_their_options(page: Path) -> None:
    for block in blocks(page):
        if block.language != "bash":
            continue
        for words in commands(block.code):
            if any("$" in word for word in words):  # a loop of the shell
                continue
            try:
                read_command(words)
            except (Exception, SystemExit) as error:
                pytest.fail(f"{' '.join(words)}: {error!r}")
            assert not block.needs_training or words[0] in KNOWN, words


@pytest.mark.parametrize("page", [page for page in PAGES if page_id(page) in TRAINING], ids=page_id)
def test_no_command_about_training_stands_where_nothing_runs_it(page: Path) -> None:
    for block in blocks(page):
        assert block.language in ("bash", "python") or not COMMAND.search(block.code), block.code
    outside = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    indented = [line for line in outside.splitlines() if line.startswith("    ")]
    assert not COMMAND.search("\n".join(indented)), indented
