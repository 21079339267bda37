"""Recorded steps through the public face: they are played, scored, recorded, exported and verified."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from simia_gym.assembly.settings import EnvConfig
from simia_gym.assembly.suite import Suite, load_suite
from simia_gym.cli.app import run as simia
from simia_gym.common.event_loop import run_inline
from simia_gym.errors import InputError
from simia_gym.record.records import read_records
from simia_gym.rollout.play import play as play_episode
from simia_gym.types import Verdict
from tests.mind2web import recorded_sample as sample

ENV = "simia/mind2web-v0"
Answer = Callable[[list[str]], str]


def written(folder: Path, tasks: Any = None) -> Path:
    path = folder / "data.json"
    path.write_text(json.dumps(tasks or sample.tasks()))
    return path


def crowd(count: int, right: int) -> Any:
    """One task of one step on a page with so many buttons."""
    (raw,) = sample.tasks()[2:]
    (action,) = raw["actions"]
    names = [str(number) for number in range(100, 100 + count)]
    buttons = "".join(
        f'<button backend_node_id="{n}"><text backend_node_id="t">Press {n}</text></button>' for n in names
    )
    action["cleaned_html"] = f'<html backend_node_id="1"><body backend_node_id="2">{buttons}</body></html>'
    rows = [{"tag": "button", "attributes": "{}", "backend_node_id": name} for name in names]
    action["pos_candidates"], action["neg_candidates"] = [rows.pop(right)], rows
    return [raw]


def suite(path: Path, **options: Any) -> Suite:
    settings = {name: options.pop(name) for name in ("grammar", "history") if name in options}
    return load_suite(EnvConfig(ENV, data=str(path), options=options, **settings))


def choices(shown: str) -> list[str]:
    """The lines of the newest page's choices."""
    return [line[3:] for line in shown.split("\nA. None of the above")[-1].splitlines() if line[1:3] == ". "]


def play(made: Suite, answer: Answer, *, seed: int = 0, task: str = "") -> tuple[Verdict, list[str]]:
    """The verdict and the prompts of an episode."""
    episode = made.episode()
    run_inline(episode.reset(made.task(task) if task else made.tasks[0], seed=seed))
    seen = []
    while episode.ended is None:
        seen.append(str(episode.shown[-1]["content"]))
        run_inline(episode.step(answer(choices(seen[-1]))))
    assert episode.verdict is not None
    return episode.verdict, seen


def wants(words: str, action: str = "CLICK", value: str = "") -> Answer:
    """Chooses the element with these words where it is listed."""

    def answer(shown: list[str]) -> str:
        place = next((n for n, line in enumerate(shown) if f" {words} " in line), None)
        return "Answer: A." if place is None else f"Answer: {'BCDEF'[place]}.\nAction: {action}\nValue: {value}"

    return answer


def always(text: str) -> Answer:
    return lambda shown: text


@pytest.mark.parametrize(
    ("task", "answer", "scores"),
    [
        ("loan_loan-u0", wants("Button 12"), (1.0, 1.0, 1.0)),
        ("loan_loan-u0", wants("Button 12", "TYPE", "x"), (1.0, 0.0, 0.0)),
        ("loan_loan-u1", wants("Branch", "SELECT", "East branch"), (1.0, 1.0, 1.0)),
        ("loan_loan-u1", wants("Branch", "SELECT", "West branch"), (1.0, 2 / 3, 0.0)),
        ("loan_loan-u1", wants("Button 12", "SELECT", "East branch"), (0.0, 1.0, 0.0)),
        ("loan_loan-u2", wants("Button 14"), (1.0, 1.0, 1.0)),
        ("loan_loan-u2", always("Answer: A."), (0.0, 0.0, 0.0)),
        ("loan_loan-u2", always("Answer: B.\nAction: CLICK"), (0.0, 1.0, 0.0)),
    ],
)
@pytest.mark.parametrize("compat", ["mind2web", None])
def test_a_step_is_scored_by_element_and_action(
    tmp_path: Path, task: str, answer: Answer, scores: tuple[float, ...], compat: str | None
) -> None:
    verdict, _ = play(suite(written(tmp_path), compat=compat), answer, task=task)
    parts = tuple(verdict.parts[name] for name in ("element_accuracy", "action_f1", "step_success"))
    assert parts == pytest.approx(scores)
    assert (verdict.reward, verdict.success) == (scores[2], scores[2] == 1.0)
    assert verdict.parts["recall_at_10"] == 1.0


@pytest.mark.parametrize(("count", "seeds"), [(1, 3), (5, 8), (6, 40), (11, 20), (41, 8), (50, 8)])
@pytest.mark.sampled
def test_a_perfect_player(tmp_path: Path, count: int, seeds: int) -> None:
    share = {}
    for compat in ("mind2web", None):
        made = suite(written(tmp_path, crowd(count, count // 2)), compat=compat)
        answer = wants(f"Press {100 + count // 2}")
        share[compat] = sum(play(made, answer, seed=seed)[0].reward or 0 for seed in range(seeds)) / seeds
    assert share[None] == 1.0
    if count in (5, 50):
        assert share["mind2web"] == 1.0
    elif count == 1:
        assert share["mind2web"] == 0.0
    else:
        assert (count - 1) / count - 0.3 < share["mind2web"] <= 1.0
        assert count != 6 or share["mind2web"] < 1.0


def test_each_turn_is_one_query_and_shows_the_recorded_history(tmp_path: Path) -> None:
    _, seen = play(suite(written(tmp_path)), always("Answer: B.\nAction: CLICK"), task="loan_loan-u2")
    assert [len(choices(text)) for text in seen] == [5, 4]
    for text in seen:
        assert text.count("Task: Extend the loan at the East branch") == 1
        assert "[button]  Button 0 -> CLICK\n[button]  Button 1 -> SELECT: East branch\n" in text
        assert "Button 2 ->" not in text


def test_every_form_of_the_data_plays_alike(tmp_path: Path) -> None:
    listed, rows, folder = tmp_path / "a.json", tmp_path / "b.jsonl", tmp_path / "c"
    (folder / "more").mkdir(parents=True)
    listed.write_text(json.dumps(sample.tasks()))
    rows.write_text("\n".join(map(json.dumps, sample.rows())))
    (folder / "0.json").write_text(json.dumps(sample.tasks()[:1]))
    (folder / "more" / "1.json").write_text(json.dumps(sample.tasks()[1:]))
    played = []
    for path in (listed, rows, folder):
        made = suite(path)
        played.append([play(made, always("Answer: B.\nAction: CLICK"), task=task.id)[1] for task in made.tasks])
        assert [task.kind for task in made.tasks] == ["click", "select", "click", "type", "click", "click"]
    assert played[0] == played[1] == played[2]


def test_the_shuffle_follows_from_the_seed_and_nothing_from_the_answer(tmp_path: Path) -> None:
    def shown(right: int, seed: int) -> list[str]:
        made = suite(written(tmp_path, crowd(30, right)))
        return play(made, wants("Press 117"), seed=seed)[1]

    assert shown(3, 1) == shown(3, 1) == shown(29, 1) != shown(3, 2)


@pytest.mark.parametrize(
    ("reply", "published", "sound"),
    [("The third one.", 2, "Error: The reply names no choice"), ("Answer: F.\nAction: CLICK", 1, "no choice F")],
)
def test_an_unreadable_reply_counts_as_none_where_scored_as_published(
    tmp_path: Path, reply: str, published: int, sound: str
) -> None:
    path = written(tmp_path, crowd(4, 0) if "F." in reply else crowd(9, 0))
    verdict, seen = play(suite(path), always(reply))
    assert (verdict.valid, verdict.reward, len(seen)) == (True, 0.0, published)
    told = iter([reply, *["Answer: B.\nAction: CLICK"] * 5])
    verdict, seen = play(suite(path, compat=None), lambda shown: next(told))
    assert seen[1].startswith(f"{seen[0]}\n\n")
    assert sound in seen[1].removeprefix(seen[0])


def test_a_reply_without_an_action_names_an_element(tmp_path: Path) -> None:
    verdict, _ = play(suite(written(tmp_path, crowd(2, 0))), always("Answer: B."))
    assert (verdict.parts["element_accuracy"], verdict.parts["action_f1"]) == (1.0, 0.0)


def test_a_step_without_a_right_element_counts_0_or_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path)
    verdict, _ = play(suite(path), always("Answer: A."), task="soup_soup-u1")
    assert (verdict.reward, verdict.parts["positive_in_page"], verdict.parts["positive_in_top_k"]) == (
        0.0,
        False,
        False,
    )
    ids = [[task.id for task in suite(path, compat=compat).tasks] for compat in ("mind2web", None)]
    assert len(ids[0]) == 6
    assert ids[1] == [name for name in ids[0] if name != "soup_soup-u1"]


def test_a_step_outside_the_top_k_counts_0_or_has_no_reward(tmp_path: Path) -> None:
    path = written(tmp_path, crowd(9, 8))
    for compat, reward in (("mind2web", 0.0), (None, None)):
        verdict, _ = play(suite(path, compat=compat, top_k=5), always("Answer: A."))
        assert (verdict.reward, verdict.valid) == (reward, reward is not None)
        assert (verdict.parts["positive_in_page"], verdict.parts["positive_in_top_k"]) == (True, False)
    ranks = {"ranks": {"parcel_parcel-u0": {str(100 + n): n for n in range(9)}}}
    (tmp_path / "ranks.json").write_text(json.dumps(ranks))
    assert len(suite(tmp_path, compat=None, top_k=9).tasks) == 1
    with pytest.raises(InputError, match="no tasks in split"):
        suite(tmp_path, compat=None, top_k=8)


@pytest.mark.parametrize("policy", ["null", "claimer", "refuser", "random"])
def test_idle_players_win_nothing(tmp_path: Path, policy: str) -> None:
    made = suite(written(tmp_path))
    for number, task in enumerate(made.tasks):
        episode = made.episode()
        run_inline(play_episode(episode, task, seed=number, policy=made.load_policy(policy)()))
        assert episode.verdict is not None
        assert (episode.verdict.valid, episode.verdict.reward) == (True, 0.0)


def test_the_calls_of_the_other_grammar_do_the_same(tmp_path: Path) -> None:
    path = written(tmp_path)

    def called(name: str, **arguments: str) -> Answer:
        return always(f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>")

    tools = suite(path, grammar="tools")
    for answer, call in (
        ("Answer: B.\nAction: CLICK", called("click", choice="B")),
        ("Answer: B.\nAction: TYPE\nValue: a b", called("type", choice="B", value="a b")),
        ("Answer: C.\nAction: SELECT\nValue: a b", called("select", choice="C", value="a b")),
        ("Answer: A.", called("more")),
    ):
        assert play(suite(path), always(answer))[0].parts == play(tools, call)[0].parts
    verdict, seen = play(tools, called("done"))
    assert (verdict.reward, len(seen)) == (0.0, 1)


def test_pages_are_no_part_of_the_state(tmp_path: Path) -> None:
    env = gym.make(ENV, data=str(written(tmp_path)))
    env.reset(seed=3)
    episode = env.unwrapped.episode  # type: ignore[attr-defined]
    state = json.dumps([dict(episode.state.rows(name)) for name in episode.state.tables])
    assert "Button" not in state
    assert [*episode.domain.state_schema.problems(episode.state)] == []
    env.close()


def test_ranks_in_the_folder_are_used(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    for name in ("plain", "ranks", "release"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, crowd(9, 8))
    ranks = {"scores": {}, "ranks": {"parcel_parcel-u0": {str(100 + n): 8 - n for n in range(9)}}}
    (tmp_path / "ranks" / "ranks.json").write_text(json.dumps(ranks))
    (tmp_path / "release" / "scores.pkl").write_bytes(pickle.dumps(ranks))
    hashes = set()
    for folder, asked in ((plain, "Press 100"), (tmp_path / "ranks", "Press 108"), (tmp_path / "release", "Press 108")):
        made = suite(folder, top_k=1, compat=None)
        _, seen = play(made, always("Answer: A."))
        assert asked in choices(seen[0])[0]
        hashes.add(made.domain.hash)
    assert len(hashes) == 3
    (tmp_path / "release" / "ranks.json").write_text("{}")
    with pytest.raises(InputError, match="two files of ranks"):
        suite(tmp_path / "release")


@pytest.mark.parametrize(
    ("options", "said"), [({"compat": "tau2"}, "use 'mind2web' or null"), ({"top_k": 0}, "from 1 to 100")]
)
def test_odd_options_are_named(tmp_path: Path, options: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        suite(written(tmp_path), **options)


@pytest.mark.parametrize("grammar", ["choice", "tools"])
def test_sites_are_not_played_as_published(grammar: str) -> None:
    with pytest.raises(InputError, match="compat='mind2web' is for recorded steps"):
        load_suite(EnvConfig(ENV, grammar=grammar, options={"compat": "mind2web"}))


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "record.jsonl"
    arguments = ["--data", written(tmp_path), "--policy", "random", "--split", "train"]
    assert simia(["rollout", ENV, *map(str, arguments), "--out", str(path), "--json"]) == 0
    return path


def test_a_record_is_replayed_exported_and_verified(
    tmp_path: Path, record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simia(["replay", str(record)]) == 0
    out = tmp_path / "predictions.json"
    assert simia(["export", str(record), str(out)]) == 0
    rows = json.loads(out.read_text())
    assert {row[0] for row in rows} == {
        f"{t['annotation_id']}_{a['action_uid']}" for t in sample.tasks() for a in t["actions"]
    }
    capsys.readouterr()
    verify = ["verify-recorded", "mind2web", "--data", str(tmp_path / "data.json"), "--rollouts", str(out), "--json"]
    assert simia(verify) == 0
    answer = capsys.readouterr()
    assert "published.micro.step_success" in answer.err
    found = json.loads(answer.out)
    parts = [each.verdict["parts"] for each in read_records(record)]
    for name in ("element_accuracy", "action_f1", "step_success"):
        assert found["published"]["micro"][name] == pytest.approx(sum(each[name] for each in parts) / 6)
    assert (found["published"]["steps"], found["sound"]["steps"]) == (6, 5)
    assert (found["published"]["no_positive_in_page"], found["published"]["outside_top_k"]) == (1, 0)
    assert [found[f"recall_at_{k}"] for k in (5, 10, 50)] == [
        pytest.approx(sum(each[f"recall_at_{k}"] for each in parts) / 6) for k in (5, 10, 50)
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[["loan_loan-u0", "12", "CLICK"]]', "has no prediction"),
        ('[["loan_x", "12", "CLICK"]]', "the data has no step loan_x"),
        ('[["loan_loan-u0", "12", "CLICK"], ["loan_loan-u0", "12", "CLICK"]]', "is there twice"),
        ('[["loan_loan-u0", 12, "CLICK"]]', "row 0 should be three texts"),
        ('[["loan_loan-u0"', "is no JSON"),
    ],
)
def test_odd_predictions_end_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (tmp_path / "p.json").write_text(text)
    data, rollouts = str(written(tmp_path)), str(tmp_path / "p.json")
    assert simia(["verify-recorded", "mind2web", "--data", data, "--rollouts", rollouts]) == 2
    assert said in capsys.readouterr().err


def test_without_recordings_there_is_nothing_to_verify(capsys: pytest.CaptureFixture[str]) -> None:
    assert simia(["verify-recorded", "mind2web"]) == 2
    assert "there are no recordings" in capsys.readouterr().err
