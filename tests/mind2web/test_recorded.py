from __future__ import annotations

import collections
import json
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from simia_gym.envs.mind2web.recorded.data import read_tasks
from simia_gym.envs.mind2web.recorded.metrics import action_f1, read_predictions, score_step, summary
from simia_gym.envs.mind2web.recorded.ranks import by_words, read_ranks, recalls
from simia_gym.envs.mind2web.recorded.tournament import Choice, Prediction, Tournament, read_reply
from simia_gym.errors import InputError
from tests.mind2web import recorded_sample as sample


def write(folder: Any, form: Any) -> Any:
    if form == "rows":
        path = folder / "train.jsonl"
        path.write_text("\n".join(map(json.dumps, sample.rows())) + "\n")
        return path
    path = folder / "train_0.json"
    listed = sample.tasks()
    if form == "folder":
        (folder / "train_1.json").write_text(json.dumps(listed[2:], indent=1))
        listed, path = listed[:2], folder
    (folder / "train_0.json").write_text(json.dumps(listed))
    return path


@pytest.mark.parametrize("form", ["list", "folder", "rows"])
def test_each_form_gives_the_same_tasks(tmp_path: Path, form: Any) -> None:
    found = read_tasks(write(tmp_path, form))
    assert [task.id for task in found] == ["loan", "soup", "parcel"]
    for task, raw in zip(found, sample.tasks(), strict=True):
        assert (task.website, task.request, list(task.reprs)) == (
            raw["website"], raw["confirmed_task"], raw["action_reprs"])  # fmt: skip
        for step, action in zip(task.steps, raw["actions"], strict=True):
            assert step.key == f"{task.id}_{action['action_uid']}"
            assert (step.op, step.value) == (action["operation"]["op"], action["operation"]["value"])
            assert step.html() == action["cleaned_html"]
            for ours, theirs in ((step.right(), "pos_candidates"), (step.wrong(), "neg_candidates")):
                assert [c.id for c in ours] == [row["backend_node_id"] for row in action[theirs]]
    assert found[0].steps[0].right()[0].attributes == {"backend_node_id": "12"}


@pytest.mark.parametrize("op", ["HOVER", "ENTER"])
def test_hover_and_enter_are_clicks(tmp_path: Path, op: Any) -> None:
    raw = sample.tasks()[2:]
    raw[0]["actions"][0]["operation"]["op"] = op
    (tmp_path / "a.json").write_text(json.dumps(raw))
    assert read_tasks(tmp_path)[0].steps[0].op == "CLICK"


def test_pages_are_not_held(tmp_path: Path) -> None:
    raw = sample.tasks()
    filler = '<a href=\\"[{\\">é</a>' * 40_000
    for task in raw:
        for action in task["actions"]:
            action["raw_html"], action["cleaned_html"] = filler, action["cleaned_html"] + filler
    path = tmp_path / "big.json"
    path.write_text(json.dumps(raw))
    tracemalloc.start()
    try:
        found = read_tasks(path)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 10_000_000
    assert held < 100_000
    assert most < 5_000_000
    assert found[0].steps[0].html().endswith(filler)


_LOAD = """
from pathlib import Path
from simia_gym.domain.loading import load_domain
from simia_gym.domain.registration import domain_path
tasks = load_domain(domain_path("simia/mind2web-v0"), data={!r}).tasks["train"]
# The peak that getrusage tells is at least that of the process which started this one.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(len(tasks), peak.split()[1])
"""


@pytest.mark.slow
def test_large_data_load_in_little_memory(tmp_path: Path) -> None:
    path, count = tmp_path / "large.json", 0
    with path.open("w") as file:
        while file.tell() < 300_000_000:
            for task in sample.tasks():
                task["annotation_id"] += str(count)
                for action in task["actions"]:
                    action["raw_html"] = '<a href="[{">é</a> ' * 25_000
                    words = f'<p backend_node_id="8"><text backend_node_id="t">{"words " * 10_000}</text></p></body>'
                    action["cleaned_html"] = action["cleaned_html"].replace("</body>", words)
                file.write(f"{'[' if not file.tell() else ','}{json.dumps(task)}")
            count += 1
        file.write("]")
    done = subprocess.run([sys.executable, "-c", _LOAD.format(str(path))], capture_output=True, text=True, check=True)
    path.unlink()
    steps, kilobytes = map(int, done.stdout.split())
    assert steps == 6 * count
    assert kilobytes < 250_000


def broken(change: Any) -> Any:
    raw = sample.tasks()
    change(raw)
    return json.dumps(raw)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("{}", "should be a list of tasks"),
        ("[]", "holds no task"),
        (json.dumps(sample.tasks()) + "[]", "something stands after the list"),
        ("[1]", "task 0 should be an object"),
        (json.dumps(sample.tasks())[:-40], "is the file whole"),
        ("[{]", "is the file whole"),
        (broken(lambda raw: raw[1].pop("actions")), "task 1: actions is missing"),
        (broken(lambda raw: raw[1].update(actions={})), "task soup: actions should be a list"),
        (broken(lambda raw: raw[1].update(actions=[])), "task soup has no actions"),
        (broken(lambda raw: raw[1].pop("action_reprs")), "task soup: action_reprs"),
        (broken(lambda raw: raw[1].update(action_reprs=["a"])), "task soup has 1 action_reprs for action 1"),
        (broken(lambda raw: raw[1].pop("confirmed_task")), "task soup: confirmed_task"),
        (broken(lambda raw: raw[1].update(annotation_id="loan")), "loan is there twice"),
        (broken(lambda raw: raw[0]["actions"][1].pop("cleaned_html")), "action 1: cleaned_html is missing"),
        (broken(lambda raw: raw[0]["actions"][1].update(neg_candidates="")), "loan-u1: neg_candidates should be"),
        (broken(lambda raw: raw[0]["actions"][1].update(operation="x")), "loan-u1: operation should"),
        (broken(lambda raw: raw[0]["actions"][1]["operation"].update(op="DRAG")), "loan-u1: operation should"),
        (broken(lambda raw: raw[0]["actions"][1].update(action_uid="loan-u0")), "task loan has two actions"),
    ],
)
def test_odd_data_is_named(tmp_path: Path, text: Any, said: Any) -> None:
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(InputError) as caught:
        read_tasks(tmp_path / "odd.json")
    assert said in str(caught.value)
    assert "odd.json" in str(caught.value)


def test_odd_rows_candidates_and_places_are_named(tmp_path: Path) -> None:
    row = next(sample.rows())
    path = tmp_path / "rows.jsonl"
    for lines, said in (
        ([{**row, "target_action_index": "first"}], "target_action_index"),
        ([row, {**row, "action_uid": "other"}], "two rows with one target_action_index"),
    ):
        path.write_text("\n".join(map(json.dumps, lines)))
        with pytest.raises(InputError, match=said):
            read_tasks(path)
    path.write_text(json.dumps({**row, "neg_candidates": ["{}"]}))
    with pytest.raises(InputError, match="action loan-u2: candidate 0 should be"):
        read_tasks(path)[0].steps[0].wrong()
    step = read_tasks(path)[0].steps[0]
    path.write_text(path.read_text().replace("Button", "Bottun"))
    with pytest.raises(InputError, match="has changed since"):
        step.html()
    for place in (tmp_path / "none.json", tmp_path / "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(InputError, match="give"):
            read_tasks(place)


RANKS = {"loan_loan-u0": {"12": 0, "10": 1}}


@pytest.mark.parametrize("protocol", [None, 0, 2, 5])
def test_ranks_come_from_json_and_pickle(tmp_path: Path, protocol: Any) -> None:
    content = {"scores": {"loan_loan-u0": {"12": 0.5, "10": -1e-3}}, "ranks": RANKS}
    path = tmp_path / ("ranks.json" if protocol is None else "ranks.pkl")
    path.write_bytes(json.dumps(content).encode() if protocol is None else pickle.dumps(content, protocol))
    assert read_ranks(path) == RANKS


class Evil:
    def __reduce__(self: Any) -> Any:
        return (print, ("run",))


@pytest.mark.parametrize("content", [Evil(), {"ranks": {"a": Evil()}}, collections.OrderedDict(ranks={})])
def test_a_pickle_runs_nothing(tmp_path: Path, content: Any, capsys: Any) -> None:
    path = tmp_path / "ranks.pkl"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(InputError, match="no pickle of plain containers"):
        read_ranks(path)
    assert "run" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.json", "{"), ("a.json", "[]"), ("a.json", '{"ranks": {"a": {"b": 0.5}}}'), ("a.pkl", ""), ("a.pkl", "x")],
)
def test_odd_ranks_are_named(tmp_path: Path, name: Any, text: Any) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=name):
        read_ranks(tmp_path / name)


def test_words_rank_and_recall() -> None:
    texts = {str(n): f"row {n}" for n in range(60)} | {"60": "Red bus to town"}
    best = by_words("Take the red bus", texts)
    assert best[0] == "60"
    assert best[1:] == [str(n) for n in range(60)]
    assert recalls([(best, {"60"}), (best, {"8"}), (best, {"40"}), (best, set())]) == {5: 0.25, 10: 0.5, 50: 0.75}


def play(count: Any, right: Any, *, published: Any, seed: Any = 0, op: Any = "CLICK") -> Any:
    names = [str(n) for n in range(count)]
    match = Tournament(names, page_order=names, seed=seed, published=published)
    asked = 0
    while (query := match.query) is not None:
        asked += 1
        assert list(query) == sorted(query, key=int)
        letter = "BCDEF"[query.index(right)] if right in query else "A"
        match.answer(Choice(letter, op, ""))
    return match.prediction, asked


_GAMES = 1_500


@pytest.mark.parametrize(
    ("count", "share"), [(1, 0.0), (5, 1.0), (6, 5 / 6), (7, 1.0), (10, 1.0), (11, 10 / 11), (41, 40 / 41), (50, 1.0)]
)
@pytest.mark.sampled
def test_a_perfect_player(count: Any, share: Any) -> None:
    wins = dict.fromkeys((True, False), 0)
    for seed in range(_GAMES):
        for mode in wins:
            prediction, _ = play(count, str(seed % count), published=mode, seed=seed)
            assert prediction in (None, Prediction(str(seed % count), "CLICK", ""))
            wins[mode] += prediction is not None
    assert wins[False] == _GAMES
    # The bound tells every share from 1, and is more than three times the spread of chance.
    assert wins[True] / _GAMES == pytest.approx(share, abs=0.6 * (1 - share) if share else 0)


def test_always_none_of_the_above() -> None:
    for published, asked in ((True, 2), (False, 3)):
        assert play(11, "none", published=published) == (None, asked)


def test_the_shuffle_follows_from_the_seed() -> None:
    names = [str(n) for n in range(50)]
    first = {s: Tournament(names, page_order=names, seed=s, published=True).query for s in (1, 2)}
    again = Tournament(names[::-1], page_order=names, seed=1, published=True).query
    assert first[1] == again != first[2]


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("Thought: x\nAnswer: C.\nAction: SELECT\nValue: Pickup ", Choice("C", "SELECT", "Pickup")),
        ("Answer: B.\nAction: CLICK\nValue: no", Choice("B", "CLICK", "")),
        ("Answer: F. Answer: B.\nAction: TYPE\nValue: a b", Choice("F", "TYPE", "a b")),
        ("the third one", Choice("A", "", "")),
        ("Answer: G.", Choice("A", "", "")),
    ],
)
def test_replies(reply: Any, choice: Any) -> None:
    assert read_reply(reply) == choice


@pytest.mark.parametrize(
    ("ours", "theirs", "f1"),
    [
        ("CLICK", "CLICK", 1.0),
        ("CLICK", "TYPE a", 0.0),
        ("SELECT East branch", "SELECT West branch", 2 / 3),
        ("TYPE a", "TYPE a b c", 2 / 3),
        ("TYPE a a", "TYPE a", 1.0),
        ("", "CLICK", 0.0),
    ],
)
def test_action_f1(ours: Any, theirs: Any, f1: Any) -> None:
    assert action_f1(ours, theirs) == pytest.approx(f1)


def lines(found: Any, **changes: Any) -> Any:
    for task in found:
        for step in task.steps:
            right = step.right()
            row = {"annotation_id": task.id, "action_uid": step.uid, "op": step.op, "value": step.value,
                   "element": right[0].id if right else None}  # fmt: skip
            yield json.dumps({**row, **changes.get(step.uid.replace("-", "_"), {}), **changes.get("all", {})})


def test_metrics_by_hand(tmp_path: Path) -> None:
    found = read_tasks(write(tmp_path, "list"))
    path = tmp_path / "predictions.out"
    wrong = {"loan_u1": {"value": "East"}, "parcel_u0": {"element": "11"}}
    path.write_text("\n".join(lines(found, **wrong)))
    predictions = read_predictions(path)
    scores = [score_step(step, {"20"}, predictions[step.key]) for step in found[0].steps[1:2]]
    assert (scores[0].element_accuracy, scores[0].action_f1, scores[0].step_success) == (1.0, 0.8, 0.0)
    # loan: 1 1 1, f1 1 .8 1; soup: 1 and no positive; parcel: wrong element
    published = summary(found, predictions, published=True)
    assert published == {
        "steps": 6, "tasks": 3,
        "micro": {"element_accuracy": pytest.approx(4 / 6), "action_f1": pytest.approx(4.8 / 6),
                  "step_success": pytest.approx(3 / 6)},
        "macro": {"element_accuracy": pytest.approx(1.5 / 3), "action_f1": pytest.approx((2.8 / 3 + 0.5 + 1) / 3),
                  "step_success": pytest.approx((2 / 3 + 0.5) / 3)},
        "task_success": 0.0, "no_positive_in_page": 1, "outside_top_k": 0,
    }  # fmt: skip
    sound = summary(found, predictions, published=False)
    assert (sound["steps"], sound["task_success"]) == (5, pytest.approx(1 / 3))
    best = {step.key: {"12", "20", "13", "10"} for task in found for step in task.steps}
    short = summary(found, predictions, published=False, best=best)
    assert (short["steps"], short["tasks"], short["outside_top_k"], short["no_positive_in_page"]) == (4, 2, 1, 1)
    assert summary(found, predictions, published=True, best=best)["micro"]["action_f1"] == pytest.approx(3.8 / 6)


def test_always_click_has_a_high_f1(tmp_path: Path) -> None:
    found = read_tasks(write(tmp_path, "list"))
    path = tmp_path / "predictions.out"
    path.write_text("\n".join(lines(found, all={"op": "CLICK", "value": "", "element": "2"})))
    assert summary(found, read_predictions(path), published=False)["micro"] == {
        "element_accuracy": 0.0, "action_f1": pytest.approx(3 / 5), "step_success": 0.0}  # fmt: skip


def test_the_list_of_the_release_is_read(tmp_path: Path) -> None:
    rows = [["a_0", "12", "CLICK"], ["a_1", "20", "SELECT East branch"], ["a_2", "", ""], ["a_3", "", "CLICK"]]
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps(rows, indent=1))
    assert read_predictions(path) == {
        "a_0": Prediction("12", "CLICK", ""),
        "a_1": Prediction("20", "SELECT", "East branch"),
        "a_2": None,
        "a_3": Prediction("", "CLICK", ""),
    }


def test_nothing_to_score_is_no_zero(tmp_path: Path) -> None:
    assert summary([], {}, published=True)["micro"]["step_success"] is None
    found = read_tasks(write(tmp_path, "list"))
    with pytest.raises(InputError, match="action loan-u0 has no prediction"):
        summary(found, {}, published=True)


@pytest.mark.parametrize("text", ["{", "[]", '{"annotation_id": "a"}'])
def test_odd_predictions_are_named(tmp_path: Path, text: Any) -> None:
    (tmp_path / "p").write_text(text)
    with pytest.raises(InputError, match="line 1 should be"):
        read_predictions(tmp_path / "p")
