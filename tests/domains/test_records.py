"""A record is proven later, without the models, byte for byte; and a forged one is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simia_gym.oracle import OracleServer
from simia_gym.rollout.replay import replay_file

from ..rollout.conftest import Roll
from .table import World


def record(world: World, path: Path, server: OracleServer, **settings: Any) -> Path:
    """A rollout of groups."""
    suite = world.suite(None if settings["simulator"] == "world" else server.base_url, split="train", **settings)
    Roll(suite, path)(suite.load_policy("expert"), episodes=8, group=4, policy="expert")
    return path


@pytest.mark.parametrize("simulator", ["world", "llm"])
@pytest.mark.slow
def test_a_record_is_proven_without_the_model(
    world: World, simulator: str, blind: OracleServer, oracle: OracleServer, tmp_path: Path
) -> None:
    modelled: dict[str, Any] = {"user": "llm"} if world.domain.user and simulator == "llm" else {}
    # A customer who is played needs the script, which stands in the task and not in the prompt.
    path = record(world, tmp_path / "r.jsonl", oracle if modelled else blind, simulator=simulator, **modelled)
    again = record(world, tmp_path / "again.jsonl", oracle, simulator=simulator, **modelled)
    assert sorted(path.read_bytes().splitlines()) == sorted(again.read_bytes().splitlines())
    proofs = list(replay_file(path))
    assert len(proofs) == 8
    assert all(proof.proven for proof in proofs), [proof.reason for proof in proofs]


def test_a_record_with_a_forged_reply_is_not_proven(world: World, blind: OracleServer, tmp_path: Path) -> None:
    path = record(world, tmp_path / "r.jsonl", blind, simulator="llm")
    text = path.read_text(encoding="utf-8")
    assert text.count('\\"outcome\\":\\"ok\\"') >= 4
    path.write_text(text.replace('\\"outcome\\":\\"ok\\"', '\\"outcome\\":\\"error\\"', 1), encoding="utf-8")
    assert not all(proof.proven for proof in replay_file(path))
