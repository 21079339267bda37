"""The lines that a training writes of what it has played."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from simia_gym.errors import InputError
from simia_gym.rl.grpo.episodes import EpisodeLog, forget_after, read_episodes
from simia_gym.rl.grpo.worlds import RunSettings, Worlds, agent_loop_config, worlds_of

from .grpo_options import LINE, MASKED


def test_lines_come_back_as_they_were_written(tmp_path: Path) -> None:
    for worker in (0, 1):
        log = EpisodeLog(tmp_path, worker)
        log.write(replace(LINE, sample=worker))
        log.write(replace(MASKED, sample=worker))
        log.close()
    assert list(read_episodes(tmp_path)) == [
        replace(line, sample=worker) for worker in (0, 1) for line in (LINE, MASKED)
    ]
    assert sorted(path.name for path in (tmp_path / "episodes").iterdir()) == ["worker-0.jsonl", "worker-1.jsonl"]


def test_what_a_killed_writer_left_is_passed_over_and_cut_off(tmp_path: Path) -> None:
    log = EpisodeLog(tmp_path)
    log.write(LINE)
    log.close()
    path = tmp_path / "episodes" / "worker-0.jsonl"
    path.write_bytes(path.read_bytes() + b'{"step":2,"purp')
    assert list(read_episodes(tmp_path)) == [LINE]
    log = EpisodeLog(tmp_path)
    log.write(MASKED)
    log.close()
    assert list(read_episodes(tmp_path)) == [LINE, MASKED]


def test_two_writers_never_write_to_one_file(tmp_path: Path) -> None:
    one, two = EpisodeLog(tmp_path), EpisodeLog(tmp_path)
    one.write(LINE)
    two.write(MASKED)
    one.write(LINE)
    assert len(list((tmp_path / "episodes").iterdir())) == 2
    assert sorted(line.valid for line in read_episodes(tmp_path)) == [False, True, True]
    one.close()
    two.close()


def test_steps_that_are_played_again_are_forgotten(tmp_path: Path) -> None:
    log = EpisodeLog(tmp_path)
    for step in (1, 2, 3, 2):
        log.write(replace(LINE, step=step))
    log.close()
    forget_after(tmp_path, 2)
    assert [line.step for line in read_episodes(tmp_path)] == [1, 2, 2]
    forget_after(tmp_path / "nowhere", 2)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "episodes").mkdir()
    (tmp_path / "episodes" / "worker-0.jsonl").write_text('{"step": 1}\n')
    with pytest.raises(InputError, match=r"worker-0\.jsonl:1"):
        list(read_episodes(tmp_path))


def test_settings_come_back_as_they_were_given(tmp_path: Path) -> None:
    given = RunSettings(run=str(tmp_path), workers=3, max_calls=10, turn_tokens=64)
    (entry,) = agent_loop_config(given)
    assert entry["name"] == "simia"
    assert worlds_of(entry["settings"]).settings == given
    assert worlds_of(entry["settings"]) is worlds_of(agent_loop_config(given)[0]["settings"])


def test_limits_are_divided_among_the_processes(tmp_path: Path) -> None:
    settings = RunSettings(run=str(tmp_path), workers=4, max_calls=10, max_cost=2.0)
    config = '{"env":"simia/webshop-v0"}'
    worlds = Worlds(settings)
    suite = worlds.suite(config)
    assert worlds.suite(config) is suite
    assert suite.resources.budget is not None
    budget = suite.resources.budget
    assert (budget.max_calls, budget.max_tokens, budget.max_cost) == (2, None, 0.5)
    assert suite.resources.pins is not None  # answers are shared beyond this process
    assert Worlds(RunSettings(run=str(tmp_path))).suite(config).resources.pins is None
