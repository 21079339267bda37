"""The six domains as the pages show them: a table, the README's table and its picture of `simia rollout all`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

from simia_gym import env_ids
from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.cli.list_envs import describe_environment
from simia_gym.common.event_loop import run_sync
from simia_gym.rollout.play import play
from simia_gym.sandbox import SandboxUnavailable
from simia_gym.types import Calls

from .docs_pages import CHECKOUT

INDEX = CHECKOUT / "docs" / "domains" / "index.md"
README = CHECKOUT / "README.md"
PICTURE = CHECKOUT / "docs" / "rollout.svg"
SIX = ("airline", "mind2web", "officebench", "os", "retail", "webshop")
CODE = re.compile(r"`([^`]+)`")


@cache
def table(page: Path) -> Mapping[str, Mapping[str, str]]:
    """The first table of a page whose first head is id: its rows by id, their cells by head."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("| id |"))
    heads, *rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines[start : lines.index("", start)]
        if not line.startswith("|---")
    ]
    heads = [head.strip("| ") for head in heads]
    assert all(len(row) == len(heads) for row in rows)
    return {CODE.findall(row[0])[0]: dict(zip(heads, row, strict=True)) for row in rows}


@cache
def suite_of(env: str) -> Suite:
    return load_suite(EnvConfig(env, split="all", simulator="world"))


def test_six_are_registered_and_the_table_has_a_row_of_each() -> None:
    assert tuple(env_ids()) == tuple(f"simia/{name}-v0" for name in SIX)
    assert sorted(table(INDEX)) == env_ids()
    assert sorted(table(README)) == sorted([*env_ids(), "simia/custom-v0"])


@pytest.mark.parametrize("env", env_ids())
def test_the_published_action_is_read_by_the_default_grammar(env: str) -> None:
    row, domain = table(INDEX)[env], suite_of(env).domain
    assert ", ".join(CODE.findall(row["grammars"])) == describe_environment(env)["grammar"]
    action = domain.grammar.parse("\n".join(CODE.findall(row["published action"])))
    assert isinstance(action, Calls)
    assert [call.name for call in action.calls if call.name in domain.specs]


@pytest.mark.parametrize("env", env_ids())
def test_tasks_and_data_are_as_the_table_says(env: str) -> None:
    row, domain = table(INDEX)[env], suite_of(env).domain
    tasks = describe_environment(env)["tasks"]
    assert row["own tasks"] == ", ".join(f"{count} {split}" for split, count in tasks.items())
    data = row["the published data, and how it is verified"]
    verified = f"`simia verify-recorded {domain.name}`"
    assert (verified in data) == (domain.config.verify is not None) == ("verify-recorded" in data)
    assert domain.config.data is not None


@pytest.mark.parametrize("env", env_ids())
def test_the_metrics_are_those_of_a_verdict(env: str) -> None:
    try:
        suite = suite_of(env)
        episode = suite.episode()
        run_sync(play(episode, suite.tasks[0], seed=0, policy=suite.load_policy("expert")()), inline=episode.inline)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    verdict = episode.verdict
    assert verdict is not None
    basis, *parts = CODE.findall(table(INDEX)[env]["metric"])
    assert verdict.basis.split(" (")[0] == basis
    assert {*parts} <= {*verdict.parts}


def test_the_picture_shows_all_of_them_at_work() -> None:
    drawn = "".join(ElementTree.parse(PICTURE).getroot().itertext()).replace("\xa0", " ")
    assert "simia rollout all" in drawn
    rows = {env: drawn.partition(env)[2].split() for env in env_ids()}
    train = {env: str(describe_environment(env)["tasks"]["train"]) for env in env_ids()}
    assert {env: row[0] for env, row in rows.items()} == train
    assert all(row[1].startswith("100.0%") for row in rows.values())
    assert "simia rollout all --out runs/all\n```" in README.read_text(encoding="utf-8")
