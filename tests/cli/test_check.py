"""`simia check`: what is wrong in a domain's folder is named, with file and place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..sweeps import sweep
from .conftest import Simia


def edit(file: str, old: str, new: str) -> None:
    path = Path("desk", file)
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))


REWARD = "simia_gym.rewards.rubric:RubricReward"
BORROWED = '"book_id": "B-02"}}]'
OWN_DATA = "program: 'simia_gym.rewards.service:own_data', finds: get_member, owners: {loan_id: {table: lones}}"
ARGUMENT = "tool: close_case, arguments: {outcom: refused}"
GONE = '{"op": "test", "path": "/lones/L-9", "value": null}'


def own(check: str) -> str:
    return f"- {{id: x, kind: forbidden, check: {{{check}}}}}\n"


# The file, a text in it (`+`: the text is added at the end; `!`: the text replaces the file), the text instead.
# Then the exit code, the place and a part of the problem.
BROKEN: list[tuple[str, str, str, int, str, str]] = [
    ("domain.yaml", "+", "doctor: world.py:needs\n", 1, "domain.yaml: doctor", "world.py has no 'needs'"),
    ("domain.yaml", "+", "history: pages\n", 2, ": history", "'pages'"),
    ("rubric.yaml", "+", "- &a [*a]\n", 2, "rubric.yaml", "recursive"),
    ("tasks/train.jsonl", "+", "{oops\n", 2, "train.jsonl:5", "not valid JSON"),
    ("tasks/test.jsonl", '"id": "test-lend', '"id": "train-lend', 2, "test.jsonl:", "stands in tasks/train.jsonl:"),
    ("tasks/train.jsonl", '"id": "train-lend"', '"id": ""', 2, "train.jsonl:1: id", "the task id '' is empty"),
    ("tasks/train.jsonl", '"id": "train-lend"', '"id": " "', 2, "train.jsonl:1: id", "is empty"),
    ("tasks/train.jsonl", '"id": "train-lend"', '"id": "a\\nb"', 2, "train.jsonl:1: id", "has a line break"),
    ("world.py", "wanted = title.casefold()", "raise SystemExit(3)", 1, "", "tool search_books raised SystemExit: 3"),
    ("tools.json", "Lend a copy", "Give a copy", 1, "tools.json", "/function/description"),
    ("tools.json", "!", "{}", 2, "tools.json", "list"),
    ("tools.json", "!", "[]", 1, "tools.json", "lend_book"),
    ("state.json", '"available": 1', '"available": 9', 1, "state.json", "invariant 'shelf'"),
    ("state.json", '{"member_id": "M-101"', '{"member_id": "M-100"', 1, "state.json", "row's key"),
    ("state.schema.json", '"<="', '"=<"', 1, "state.schema.json", "=<"),
    ("selftests.jsonl", "B-02", "B-03", 1, "selftests.jsonl:1", "observation lacks 'B-03'"),
    ("selftests.jsonl", "contains", "content", 1, "selftests.jsonl:1: expect.content", "no key 'content'"),
    ("selftests.jsonl", "!", '{"expect": {"content": "x"}}\n', 1, "selftests.jsonl:1: call", "'call' is missing"),
    ("selftests.jsonl", '"name": "search', '"name": "seek', 1, "selftests.jsonl:1", "seek"),
    ("selftests.jsonl", "+", "{oops\n", 1, "selftests.jsonl:8", "not valid JSON"),
    ("tasks/train.jsonl", BORROWED, BORROWED.replace("02", "01"), 1, "train-lend", "do not reach the goal"),
    ("tasks/train.jsonl", BORROWED, BORROWED.replace("02", "03"), 1, "train-lend", "fails"),
    ("tasks/train.jsonl", '"path": "/loans/L-2/', '"path": "/loans/L-1/', 1, "train-return", "expert"),
    ("tasks/test.jsonl", "/members/M-104", "/staff/x/M-104", 1, "test-lend", "invalid"),
    ("tasks/test.jsonl", "!", "", 1, "test.jsonl", "holds no task"),
    ("world.py", '"books/*/available", "desk/', '"desk/', 1, "", "outside its write set"),
    ("rubric.yaml", "tool: close_case", "tool: close", 1, "closed", "no tool 'close'"),
    ("rubric.yaml", "goal_state", "goal_state, ignore: [/nix/*]", 1, "yaml:5: criterion 'goal'", "'/nix/*' names no"),
    ("rubric.yaml", "+", own("program: unchanged, tables: bokks"), 1, ":19: criterion 'x'", "'bokks' names no table"),
    ("rubric.yaml", "+", own("program: unchanged, tables: bokks"), 1, "rubric.yaml:19", "'books'? The domain's tables"),
    ("rubric.yaml", "+", own("program: unchanged, tables: _episode"), 1, "rubric.yaml:19", "'_episode' names no table"),
    ("rubric.yaml", "+", own("program: unchanged, ignore: /lo*s1/x"), 1, "rubric.yaml:19", "'/lo*s1/x' names no table"),
    ("rubric.yaml", "+", own("program: state_is, path: /lones/1, value: 0"), 1, "rubric.yaml:19", "'/lones/1' names"),
    ("rubric.yaml", "+", own(f"program: not_called, {ARGUMENT}"), 1, "yaml:19", "close_case has no argument 'outcom'"),
    ("rubric.yaml", "+", own(f"program: refused, after: [[{{{ARGUMENT}}}]]"), 1, "yaml:19", "Did you mean 'outcome'?"),
    ("rubric.yaml", "+", own("program: confirmed_writes, binds: {lend: [book_id]}"), 1, "yaml:19", "no tool 'lend'"),
    ("rubric.yaml", "+", own(OWN_DATA), 1, "rubric.yaml:19: criterion 'x'", "'lones' names no table"),
    ("tasks/train.jsonl", '"goal": [', f'"goal": [{GONE}, ', 1, "train-lend: goal operation", "'/lones/L-9' names"),
    ("rubric.yaml", "!", "- {id: c, kind: interaction, check: {program: no_writes}}\n", 1, "", "null succeeds"),
    ("state.schema.json", '"type": "object"', '"$ref": "http://127.0.0.1:9/r"', 1, "schema.json", "is not read"),
    ("policy.md", "!", "\n", 1, "policy.md", "is empty"),
    ("expert.py", "MOST_LOANS = 3", "MOST_LOANS = 9", 1, "test-full", "expert does not succeed"),
]


ENDED = "tool 'search_books' ended the process"
SEARCH, LOADING = "wanted = title.casefold()\n", "LOAN_DAYS = 21\n"
# A line of the world, what stands in its place, the time that it is given, then the exit code and the problem.
STUCK: list[tuple[str, str, int, int, str]] = [
    (SEARCH, "__import__('os')._exit(0)", 60, 1, f"{ENDED} (exit code 0), at: self-tests"),
    (SEARCH, "(os := __import__('os')).kill(os.getpid(), 9)", 60, 1, f"{ENDED} (signal 9), at: self-tests"),
    (SEARCH, "while True: pass", 10, 1, "tool 'search_books' has not returned for 10 s, at: self-tests"),
    (LOADING, "__import__('os')._exit(0)", 60, 2, "the domain's code ended the process (exit code 0), at: files"),
    (LOADING, "while True: pass", 1, 2, "the domain's code has not returned for 1 s, at: files"),
]


@pytest.mark.parametrize(("old", "new", "timeout", "code", "what"), STUCK)
@pytest.mark.slow
def test_code_that_never_returns_or_ends_the_process_is_named(
    old: str, new: str, timeout: int, code: int, what: str, desk: str, simia: Simia
) -> None:
    edit("world.py", old, f"{new}\n")
    result = simia("check", desk, "--timeout", timeout, "--json")
    assert result.code == code
    assert [problem["what"] for problem in result.json["problems"]] == [what]
    assert result.json["problems"][0]["where"] == desk


@pytest.mark.parametrize(("file", "old", "new", "code", "where", "what"), sweep(BROKEN, 12))
@pytest.mark.sampled
def test_check_names_the_mistake(
    file: str, old: str, new: str, code: int, where: str, what: str, desk: str, simia: Simia
) -> None:
    text = Path(desk, file).read_text()
    Path(desk, file).write_text(new if old == "!" else text + new if old == "+" else text.replace(old, new, 1))
    assert Path(desk, file).read_text() != text
    result, told = simia("check", desk, "--json"), simia("check", desk)
    problems = result.json["problems"]
    assert (result.code, told.code) == (code, code)
    assert any(where in item["where"] and what in item["what"] + item["fix"] for item in problems), problems
    assert all(item["fix"] for item in problems), problems
    assert what in (told.err if code == 2 else told.out)
    assert len(told.err.splitlines()) == (len(problems) if code == 2 else 0)


def test_another_order_of_keys_in_tools_json_is_said(desk: str, simia: Simia) -> None:
    path = Path(desk, "tools.json")
    first, *others = json.loads(path.read_text())
    path.write_text(json.dumps([dict(reversed(first.items())), *others]))
    (problem,) = simia("check", desk, "--json").json["problems"]
    assert "another order" in problem["what"]


@pytest.mark.parametrize("file", ["domain.yaml", "tools.json", "selftests.jsonl"])
@pytest.mark.slow
def test_files_that_are_missing_or_no_files(file: str, desk: str, simia: Simia) -> None:
    Path(desk, file).unlink()
    missing = simia("check", desk, "--json")
    Path(desk, file).mkdir()
    folder = simia("check", desk, "--json")
    assert (missing.code, folder.code) == {"domain.yaml": (2, 2), "tools.json": (1, 1)}.get(file, (0, 1))
    assert file in str(missing.json["problems"] or missing.json["notes"])
    assert file in str(folder.json["problems"])


def test_domain_without_a_world_is_not_called_sound(desk: str, simia: Simia) -> None:
    edit("domain.yaml", "world: world.py:LibraryWorld", "world: null")
    result = simia("check", desk, "--json")
    assert (result.code, result.json["ok"], result.json["played"]) == (0, True, False)
    assert "nothing could be played" in simia("check", desk).out
    assert "has no world" in simia("rollout", desk).err


GENERATOR = """
import json
from pathlib import Path
from simia_gym.domain.tasks import task_from_json

SEEDS = {"train": 0, "test": 1000}
TASK = json.loads(Path(__file__).with_name("tasks").joinpath("train.jsonl").read_text().splitlines()[0])

def generate(split, index):
    return task_from_json({**TASK, %s}, "here")
"""


@pytest.mark.parametrize(
    ("made", "what"),
    [
        ('"id": f"{split}-{SEEDS[split] + index}", "split": split', "KeyError: 'dev'"),
        ('"id": f"g-{index}", "split": "train"', "was asked for a task of dev"),
        ('"id": f"{split}-{index}", "split": split', "makes the same tasks for train and dev"),
        ('"id": f"g-{index}", "split": split, "options": {"split": split}', "of train and dev have the same id 'g-0'"),
        ('"id": f"{split}-{index}", "split": split, "options": {"split": split}', None),
    ],
)
def test_check_looks_at_the_task_generator_of_every_split(made: str, what: str | None, desk: str, simia: Simia) -> None:
    Path(desk, "more.py").write_text(GENERATOR % made)
    with Path(desk, "domain.yaml").open("a") as file:
        file.write("generator: more.py:generate\n")
    result = simia("check", desk, "--json")
    if what is None:
        assert (result.code, result.json["problems"]) == (0, [])
        assert sum(task["split"] == "dev" for task in result.json["tasks"]) == 20
    else:
        assert result.code == 1
        assert any(what in problem["what"] for problem in result.json["problems"])


def test_check_writes_tools(desk: str, simia: Simia) -> None:
    path = Path(desk, "tools.json")
    before = path.read_bytes()
    path.unlink()
    assert simia("check", desk, "--write-tools").code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("marks", [(", ", ": "), (",", ":")])
def test_check_writes_goals_from_gold_actions(marks: tuple[str, str], desk: str, simia: Simia) -> None:
    path = Path(desk, "tasks", "train.jsonl")
    before = [json.loads(line) for line in path.read_text().splitlines()]
    bare = [{key: value for key, value in task.items() if key != "goal"} for task in before]
    bare[0]["kind"] = "lén"
    bare[1]["goal"] = [{"op": "test", "path": "/loans/L-1/returned", "value": True}]  # the gold actions do not reach it
    bare[2]["goal"], bare[3]["goal"] = before[2]["goal"], before[3]["goal"]
    path.write_text("\n".join(json.dumps(task, ensure_ascii=False, separators=marks) for task in bare) + "\n")
    kept = path.read_text().splitlines()[2]
    result = simia("check", desk, "--write-goals", "--json")
    assert (result.code, "2 of 4 goals are new" in str(result.json["notes"])) == (0, True)
    lines = path.read_text().splitlines()
    goals = [[sorted(map(str, task["goal"])) for task in tasks] for tasks in (map(json.loads, lines), before)]
    assert goals[0] == goals[1]
    assert lines[2] == kept
    assert lines[0] == json.dumps(json.loads(lines[0]), ensure_ascii=False, separators=marks)
    assert [*json.loads(lines[0])] == [*bare[0], "goal"]
    assert simia("check", desk, "--write-goals", "--json").json["notes"] == []
    assert path.read_text().splitlines() == lines


def test_goals_are_not_written_from_gold_actions_that_fail(desk: str, simia: Simia) -> None:
    edit("tasks/train.jsonl", BORROWED, BORROWED.replace("02", "03"))
    path = Path(desk, "tasks", "train.jsonl")
    before = path.read_bytes()
    result = simia("check", desk, "--write-goals")
    assert (result.code, path.read_bytes()) == (2, before)
    assert "train-lend: gold action 0 (lend_book) fails" in result.err


def test_check_warns_of_tasks_that_a_refusal_in_general_solves(desk: str, simia: Simia) -> None:
    Path(desk, "own.py").write_text(
        "from simia_gym.rewards.rubric import RubricReward\nfrom simia_gym.types import Verdict\n\n\n"
        "class Own(RubricReward):\n    async def score(self, trace):\n"
        "        said = any('cannot' in event['text'] for event in trace.events if event['type'] == 'action')\n"
        "        return Verdict(float(said), True, said, float(said), 'own', ())\n"
    )
    edit("domain.yaml", REWARD, "own.py:Own")
    found = simia("check", desk, "--json").json
    assert any("warning: refuser" in note and "in 6 of 6 tasks: train-lend," in note for note in found["notes"])
    assert not any("refuser" in item["what"] for item in found["problems"])
    assert [task["refuser"] for task in found["tasks"]] == [True] * 6


CLASS = "from simia_gym.rewards.rubric import RubricReward\n\n\nclass Own(RubricReward):\n    "
MADE_BY = f"{CLASS}@classmethod\n    def for_domain(cls, *a, **k):\n        return"
STATE = "state: state.json"


@pytest.mark.parametrize(
    ("old", "new", "code", "plays"),
    [
        (REWARD, "own.py:Own", "class Own:\n    pass\n", False),
        (REWARD, "own.py:Own", f"{MADE_BY} 1 / 0\n", False),
        (REWARD, "own.py:Own", f"{MADE_BY} None\n", False),
        (REWARD, "own.py:Own", f"{CLASS}def problems(self, *given):\n        return 1 / 0\n", True),
        (STATE, 'state: "own.py:make"', "def make():\n    raise SystemExit(0)\n", False),
        (STATE, 'state: "own.py:make"', "def make():\n    return 7\n", False),
    ],
)
@pytest.mark.sampled
def test_code_of_a_domain_that_breaks_is_named(
    old: str, new: str, code: str, plays: bool, desk: str, simia: Simia
) -> None:
    Path(desk, "own.py").write_text(code)
    edit("domain.yaml", old, new)
    result, told = simia("rollout", desk), simia("check", desk)
    assert (result.code, len(result.err.splitlines())) == ((0, 0) if plays else (2, 1))
    assert told.code in (1, 2)
    assert "Traceback" not in told.out + told.err
    shown = told.out + told.err if plays else result.err
    assert any(text in shown for text in ("own.py:Own", "own.py:make", "domain's code raised", "ZeroDivisionError"))


def test_check_looks_at_the_prompts_of_a_domain(desk: str, simia: Simia) -> None:
    folder = Path(desk, "prompts")
    folder.mkdir()
    (folder / "errors_terse.md").write_text("Say `Error: ` and the rule.")
    assert simia("check", desk).code == 0
    (folder / "errors_terse.md").write_text("Say\n{{policy}}")
    (folder / "simulator_legder.md").write_text("You are the back end.")
    (folder / "judge.md").write_text("{{policy}} {{polity}}")
    problems = simia("check", desk, "--json").json["problems"]
    assert len(problems) == 3
    for says in ("errors_terse.md:2", "simulator_legder.md", "{{polity}}"):
        assert says in str(problems)


def test_what_makes_every_episode_invalid_is_said_once(desk: str, simia: Simia) -> None:
    edit("rubric.yaml", "tool: close_case", "tool: close")
    problems = simia("check", desk, "--json").json["problems"]
    assert ["episodes are invalid for this reason" in problem["what"] for problem in problems] == [False, True]


def test_a_criterion_for_a_judge_is_noted(desk: str, simia: Simia) -> None:
    with Path("desk", "rubric.yaml").open("a") as file:
        file.write("- {id: kind, kind: communication, check: {llm: The agent is kind.}}\n")
    result = simia("check", desk)
    assert result.code == 0
    assert "warning: criterion 'kind': not judged" in result.out
    assert "--judge llm" in result.out
    assert "succeeds in 0 of 6, 6 not judged" in result.out


@pytest.mark.parametrize("rubric", ["rubric: criteria.yaml", "rubric: null"])
def test_a_rubric_that_is_not_read_is_noted(rubric: str, desk: str, simia: Simia) -> None:
    Path("desk", "criteria.yaml").write_text(Path("desk", "rubric.yaml").read_text())
    edit("domain.yaml", "rubric: rubric.yaml", rubric)
    (note,) = (note for note in simia("check", desk, "--json").json["notes"] if "rubric.yaml" in note)
    assert "rubric.yaml is not read: the criteria come from" in note
