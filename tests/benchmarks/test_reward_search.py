"""The search for ways to earn more than honest agents finds a hole where one was made, and nothing where none is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.reward_search import search
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import load_suite
from simia_gym.cli import main

WITHOUT_A_KIND = """
from dataclasses import replace
from pathlib import Path
from simia_gym.service import Generator, load_service

MADE = Generator(load_service(Path(__file__).parent), "desk")


def unkind(item):
    check = item.get("check", {})
    if check.get("program") != "says":
        return item
    return {**item, "check": {key: check[key] for key in ("program", "any", "after")}}


def generate(split, index):
    task = MADE(split, index)
    return replace(task, criteria=tuple(unkind(item) for item in task.criteria))
"""


@pytest.mark.slow
@pytest.mark.parametrize("hole", [False, True])
def test_a_hole_is_found(hole: bool, tmp_path: Path) -> None:
    folder = tmp_path / "desk"
    with pytest.raises(SystemExit):
        main(["new-domain", str(folder), "--kind", "service"])
    if hole:  # an answer is there if its words are, whatever else is said
        (folder / "unkind.py").write_text(WITHOUT_A_KIND)
        manifest = folder / "domain.yaml"
        manifest.write_text(manifest.read_text() + "generator: unkind.py:generate\n")
    suite = load_suite(EnvConfig(env="simia/custom-v0", domain=str(folder), split="train"))
    found = search(suite, episodes=1000, fresh=20)["above"]
    assert {one["wish"] for one in found} == ({"due"} if hole else set())
    for one in found:
        assert one["differs"]["hedge"] != "one"
        assert "reward 1" in one["transcript"]
