"""AgentBench's own tasks: every form is read, machines are begun, answers and changes are judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from simia_gym.envs.os.agentbench.causes import FOLDERS, NETWORK, PROCESS, USERS, cause
from simia_gym.envs.os.agentbench.checks import holds, own_name
from simia_gym.envs.os.agentbench.judging import Told, judge, tell
from simia_gym.envs.os.agentbench.published import Script, read
from simia_gym.envs.os.agentbench.running import begin, run, text
from simia_gym.errors import Fault, InputError
from simia_gym.sandbox import Entry, folder
from tests.sandbox.conftest import needs_sandbox

BASE = {"/root/notes": Entry("file", 0o644, b"milk\n"), "/var/log": folder()}
COUNT = "ls /root | wc -l"
CHECK = {"language": "python", "file": "check/integer-match.py"}
EXAMPLE = {"check": [None, CHECK], "example": COUNT}
MATCH = {"match": "1"}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a task file, and scripts beside it."""

    def write(*tasks: Any, name: str = "bench/tasks.jsonl", **scripts: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        for script, code in scripts.items():
            place = tmp_path / script
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(code)
        if name.endswith("l"):
            path.write_text("".join(f"{task if isinstance(task, str) else json.dumps(task)}\n" for task in tasks))
        else:
            path.write_text(json.dumps(tasks[0], indent=1))
        return path

    return write


def task(evaluation: Any = MATCH, **more: Any) -> dict[str, Any]:
    return {"description": "How many files are there?", "evaluation": evaluation, **more}


def bash(*codes: str) -> tuple[Script, ...]:
    return tuple(Script(code=code) for code in codes)


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        ("echo a", bash("echo a")),
        ({"code": "echo a"}, bash("echo a")),
        ({"code": "print(1)", "language": "python"}, (Script(language="python", code="print(1)"),)),
        ({"file": "init/a.sh"}, bash("echo file\n")),
        (["echo a", {"code": "echo b"}, {"file": "init/a.sh"}], bash("echo a", "echo b", "echo file\n")),
        ([], ()),
    ],
)
def test_every_form_of_a_script_is_read(write: Write, given: Any, read_as: tuple[Script, ...]) -> None:
    (one,) = read(write(task(create={"init": given, "local": "default"}), **{"bench/init/a.sh": "echo file\n"}))
    assert (one.init, one.description, one.cause) == (read_as, "How many files are there?", "")
    if all(script.language == "bash" for script in read_as):
        (one,) = read(write(task(start=given), **{"bench/init/a.sh": "echo file\n"}))
        assert one.start == read_as
    if read_as:
        (one,) = read(write(task({"check": given}), **{"bench/init/a.sh": "echo file\n"}))
        assert one.evaluation.check == read_as


@pytest.mark.parametrize(
    ("given", "right", "wrong"),
    [
        ("42", ["42", " 42\n"], ["43", "", "420"]),
        ({"answer": "42"}, ["42", " 42 "], ["4 2"]),
        ({"answer": "42", "strip": False}, ["42"], ["42 ", "42\n"]),
        ({"regex": "^4[12]$"}, ["41", " 42 "], ["421", ""]),
        ({"regex": "^4[12]$", "strip": False}, ["41"], [" 42 "]),
        ({"regex": "b+"}, ["abbc"], ["ac"]),
    ],
)
@pytest.mark.parametrize("published", [False, True])
def test_every_form_of_a_match_is_judged(
    write: Write, given: Any, right: list[str], wrong: list[str], published: bool
) -> None:
    (one,) = read(write(task({"match": given})))
    for answer in [*right, *wrong]:
        found = judge(one.evaluation, BASE, {}, answer, published=published)
        assert found.passed == (answer in right)
        assert repr(answer.strip()) in found.reason or repr(answer) in found.reason
    assert not judge(one.evaluation, BASE, BASE, None, published=published).passed


@pytest.mark.parametrize("form", [lambda task: [task, task], lambda task: task])
def test_lists_and_single_tasks_are_read_like_lines(write: Write, form: Callable[[Any], Any]) -> None:
    given = task(EXAMPLE, create={"init": "touch ~/a"}, labels=["x"])
    found, lines = read(write(form(given), name="a.json")), read(write(given, "", given))
    assert [one.name for one in lines] == ["tasks-00000", "tasks-00001"]
    for number, one in enumerate(found):
        assert (one.init, one.evaluation) == (lines[number].init, lines[number].evaluation)


def test_some_of_agentbenchs_files_are_odd(write: Write) -> None:
    """A check in the place of ``create`` is without effect there, and an example may stand beside the evaluation."""
    (one,) = read(write(task({"check": "true"}, create=[None, CHECK], example={"code": COUNT})))
    assert (one.init, one.evaluation.example) == ((), Script(code=COUNT))


@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("bench/tasks.jsonl", "bench/check/integer-match.py"),
        ("bench/tasks.jsonl", "bench/scripts/check/integer-match.py"),
        ("os/data/5/new.json", "os/scripts/5/check/integer-match.py"),
        ("os/data/dev.json", "os/scripts/dev/check/integer-match.py"),
    ],
)
def test_a_script_of_the_data_comes_before_ours(write: Write, name: str, script: str) -> None:
    written = task(EXAMPLE) if name.endswith("l") else [task(EXAMPLE)]
    (ours,) = read(write(written, name=name))
    assert ours.evaluation.check == (None, Script(language="own", code="integer-match"))
    (theirs,) = read(write(written, name=name, **{script: "exit(0)"}))
    assert theirs.evaluation.check == (None, Script(language="python", code="exit(0)"))
    assert {path.name for path in theirs.files} == {Path(name).name, "integer-match.py"}


LONG = "x" * 131_000
CODE = "import json; exit(3)"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nonsense", "not valid JSON"),
        ("[]", "should be an object"),
        ({"evaluation": MATCH}, "'description' is missing"),
        ({"description": "", "evaluation": MATCH}, "description: String should have at least 1 character"),
        ({"description": "x"}, "'evaluation' is missing"),
        (task({}), "either a match or a check"),
        (task({**MATCH, **EXAMPLE}), "either a match or a check"),
        (task({"match": 3}), "evaluation.match: Input should be an object, got 3"),
        (task({"match": {"strip": True}}), "either an answer or a regex"),
        (task({"match": {"answer": "a", "regex": "a"}}), "either an answer or a regex"),
        (task({"match": {"regex": "("}}), "no regular expression"),
        (task({"match": {"answer": "a", "stripp": True}}), "no key 'stripp'"),
        (task({"check": []}), "evaluation.check: "),
        (task({"check": [None]}), "there is none"),
        (task({"check": [None, CHECK]}), "there is none"),
        (task({"check": [3]}), "check[0]: Input should be an object, got 3"),
        (task({"check": ["true"], "exampel": "x"}), "no key 'exampel'"),
        (task({"check": [{"file": "check/other.py"}]}), "no script 'check/other.py'"),
        (task({"check": [{"file": "../secret.py"}]}), "outside of the folder"),
        (task({"check": [{"file": "/etc/passwd"}]}), "outside of the folder"),
        (task({"check": [{}]}), "either code or a file"),
        (task({"check": [{"code": "a", "file": "b"}]}), "either code or a file"),
        (task({"check": [{"code": "a", "language": "c++"}]}), "language: Input should be 'bash' or 'python'"),
        (task(create={"init": {"file": "check/integer-match.py"}}), "no script 'check/integer-match.py'"),
        (task(create={"init": {"file": ""}}), "no script ''"),
        (task(create={"init": 5}), "init: Input should be an object, got 5"),
        (task(create={"init": [None]}), "init"),
        (task(create=7), "create: Input should be an object, got 7"),
        (task(create={"init": LONG}), "at most 115,071 bytes"),
        (task(create={"init": "a\0b"}), "no NUL"),
        (task(start={"code": "x", "language": "python"}), "must be bash"),
    ],
)
def test_odd_input_is_named_with_file_and_line(write: Write, line: Any, says: str) -> None:
    with pytest.raises(InputError) as raised:
        read(write(task(), line))
    assert "tasks.jsonl:2:" in str(raised.value)
    assert says in str(raised.value)
    if not isinstance(line, str):
        with pytest.raises(InputError) as raised:
            read(write([task(), line], name="tasks.json"))
        place = str(raised.value).partition("tasks.json:")[2].partition(":")[0]
        first = len(json.dumps([task()], indent=1).splitlines())  # where the second task begins
        assert int(place) >= first
        assert says in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.txt", "", "is no file of tasks"),
        ("a.jsonl", "\n\n", "holds no tasks"),
        ("a.json", "[]", "holds no tasks"),
        ("a.json", "5", "should be an object"),
        ("a.json", "{", "a.json:1:2: not valid JSON"),
        ("none.json", None, "no such task file"),
    ],
)
def test_what_is_no_file_of_tasks_is_named(tmp_path: Path, name: str, text: str | None, says: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=says):
        read(tmp_path / name)


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("useradd -m jack && su - jack", USERS),
        ("sudo chown jack /home/a", USERS),
        ("for u in a b; do adduser $u; done", USERS),
        ("apt-get update && apt-get install -y lsof", NETWORK),
        ("x=1; curl http://example.com/a", NETWORK),
        ("pip install -q numpy", NETWORK),
        ("python3 -c 'while True: pass' &", PROCESS),
        ("(sleep 60) &\ndone", PROCESS),
        ("nohup ./server", PROCESS),
        ("echo a > /etc/motd", FOLDERS),
        ("mkdir -p /opt/tool/bin", FOLDERS),
        ("chmod +x calc\nmv calc /usr/local/bin/", FOLDERS),
        ("echo a & # later", PROCESS),
        ("echo 'useradd jack' > notes", ""),
        ("# useradd jack\necho done", ""),
        ("cat <<'END' > run.sh\nuseradd jack\ncurl x\nsleep 9 &\nEND\nls", ""),
        ("cat <<END > run.sh\nuseradd jack\nEND\nuseradd joe", USERS),
        ("make && test -e a && echo $((6 & 3)) 2>&1 >/dev/null", ""),
        ("cp /etc/passwd ~/copy", ""),
        ("grep -r service /var/log | wc -l", ""),
        ("echo curl wget > /tmp/list; ls /usr/bin > /root/list", ""),
    ],
)
def test_what_cannot_run_here_has_a_cause(write: Write, script: str, why: str) -> None:
    assert cause([script]) == why
    for given in (task(create={"init": script}), task(start=script), task({"check": "true", "example": script})):
        (one,) = read(write(given))
        assert one.cause == why


@pytest.mark.parametrize(
    ("file", "answer", "wanted", "right"),
    [
        ("integer-match", "3", " 3\n", True),
        ("integer-match", "03", "3", True),
        ("integer-match", "3", "4\n", False),
        ("integer-match", "three", "3", False),
        ("integer-match", "", "", False),
        ("integer-match", "9" * 5000, "3", False),
        ("string-match", "a b \r\n", "a b\n", True),
        ("string-match", "A", "a", False),
        ("size-match", "4K", "4096\n", True),
        ("size-match", "4.0K", "4KB", True),
        ("size-match", "2 MB", "2097152B", True),
        ("size-match", "1G", "1024M", True),
        ("size-match", "4K", "4M", False),
        ("size-match", "K", "K", False),
        ("containing", "there are 3 files", "3\n", True),
        ("containing", "none", "3", False),
        ("in", "b", "a b c", True),
        ("in", "d", "a b c", False),
        ("in", " ", "a b c", False),  # nothing is no part of an answer
        ("containing", "a b c", "\n", False),
    ],
)
def test_our_checks_mean_what_the_published_ones_do(file: str, answer: str, wanted: str, right: bool) -> None:
    name = own_name(f"check/{file}.py")
    assert name is not None
    assert holds(name, [answer, wanted]) == right
    assert not holds(name, [answer])


@needs_sandbox
def test_a_machine_is_made_by_its_scripts_and_its_shell_goes_on() -> None:
    init = (
        *bash("mkdir ~/d; n=1; echo $RANDOM > ~/r"),
        Script(language="python", code="open('/root/p', 'w').write('it\\'s')"),
    )
    start = bash("n=${n}2; cd d", "touch -d '2020-01-02 03:04:05' here; alias ll=ls")
    begun = begin(init, start, BASE)
    assert sorted(path for path in begun.tree if path.startswith("/root/")) == [
        *("/root/d", "/root/d/here", "/root/notes", "/root/p", "/root/r")
    ]
    assert begun.tree["/root/p"].data == b"it's"
    assert begun.tree["/root/d/here"].time == 1_577_934_245
    assert begun.shell.cwd == "/root/d"
    assert 'declare -- n="2"' in begun.shell.variables  # init has a shell of its own
    again = begin(init, start, BASE)
    assert again.tree["/root/r"].data == begun.tree["/root/r"].data  # random numbers repeat
    assert begin((), (), BASE).tree == BASE


@needs_sandbox
def test_a_machine_that_cannot_be_made_is_a_fault() -> None:
    with pytest.raises(Fault, match="init was stopped by the limit of output"):
        begin(bash("yes"), (), BASE)


@needs_sandbox
@pytest.mark.parametrize(
    ("answer", "final", "sound", "published"),
    [
        ("1", BASE, True, True),
        (" 1\n", BASE, True, True),
        ("0", BASE, False, False),
        ("0", {}, False, True),  # the cheat: an emptied tree holds no files
        ("1", {}, True, False),
        (None, BASE, False, False),
        ("1'; exit 0 #", BASE, False, False),
        ("$(echo 1)", BASE, False, False),
        ("a\0b", BASE, False, False),
        ("9" * 200_000, BASE, False, False),
    ],
)
def test_an_answer_is_judged_by_the_initial_tree(
    write: Write, answer: str | None, final: Any, sound: bool, published: bool
) -> None:
    (one,) = read(write(task(EXAMPLE)))
    assert judge(one.evaluation, BASE, final, answer).passed == sound
    assert judge(one.evaluation, BASE, final, answer, published=True).passed == published


@needs_sandbox
def test_what_the_example_says_may_be_told_before(write: Write) -> None:
    (clock,) = read(write(task({"check": [None, {"file": "string-match.py"}], "example": "date +%s%N"})))
    told = tell(clock.evaluation, BASE)
    assert told is not None
    answer = told.output.decode()
    assert judge(clock.evaluation, BASE, {}, answer, told=told).passed
    assert not judge(clock.evaluation, BASE, {}, answer).passed
    assert not judge(clock.evaluation, BASE, BASE, answer, told=told, published=True).passed
    assert (
        judge(clock.evaluation, BASE, {}, "x", told=Told(1, b"no")).reason == "the example ended with 1 and wrote 'no'"
    )
    assert "limit of time" in judge(clock.evaluation, BASE, {}, "x", told=Told(137, b"", "time")).reason
    (change,) = read(write(task({"check": "true", "example": "echo 1"})))
    assert tell(change.evaluation, BASE) is None


@needs_sandbox
@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize(
    ("check", "answer", "right", "says"),
    [
        (["test -e ~/done"], None, True, "all 1 checks hold"),
        (["test -e ~/other"], None, False, "check 1 ended with 1"),
        (
            ["test -e ~/done", {"code": "import sys; sys.exit(len(sys.argv) - 3)", "language": "python"}],
            "x",
            True,
            "all 2",
        ),
        (["echo 5", CHECK], "5", True, "all 2"),
        (["echo 5", CHECK], "6", False, "check 2 (integer-match) fails for '6', '5"),
        (['test "$1" = "it\'s"', 'test "$1$2" = "it\'sit\'s"'], "it's", False, "check 2 ended with 1"),
        (["echo more > ~/done", "grep -q more ~/done"], None, True, "all 2"),
        (["yes"], "1", False, "stopped by the limit of output"),
        ([None, "grep -q x ~/done"], "1", False, "check 2 ended with"),
    ],
)
def test_a_change_is_judged_by_the_final_tree(
    write: Write, check: Any, answer: str | None, right: bool, says: str, published: bool
) -> None:
    (one,) = read(write(task({"check": check, "example": "echo 1"})))
    final = {**BASE, "/root/done": Entry("file", 0o644, b"")}
    found = judge(one.evaluation, BASE, final, answer, published=published)
    assert (found.passed, says in found.reason) == (right, True), found.reason


@needs_sandbox
@pytest.mark.parametrize("place", ["/root/json.py", "/root/.local/lib/python3.11/site-packages/usercustomize.py"])
@pytest.mark.parametrize("check", [{"code": CODE, "language": "python"}, f"python3 -c '{CODE}'"])
def test_a_check_takes_no_module_from_the_agent(write: Write, check: Any, place: str) -> None:
    """Python would look in the working directory and in the home."""
    (one,) = read(write(task({"check": check})))
    above = [place[:at] for at in range(6, len(place)) if place[at] == "/"]
    planted = {**{path: folder() for path in above}, place: Entry("file", 0o644, b"import os; os._exit(0)\n")}
    assert "ended with 3" in judge(one.evaluation, BASE, {**BASE, **planted}, None).reason


@needs_sandbox
def test_examples_of_the_real_data_pass_and_cheats_do_not(shared_data: Path) -> None:
    found = read(shared_data / "agentbench_os" / "tasks_train_a.jsonl")
    assert (len(found), [one.cause for one in found if one.cause]) == (499, [])
    for one in found[::50]:
        tree = begin(one.init, one.start, BASE).tree
        assert one.evaluation.example is not None
        answer = text(run(tree, one.evaluation.example)[0].output)
        assert judge(one.evaluation, tree, tree, answer).passed, one.name
        if answer.strip() != "0":
            assert not judge(one.evaluation, tree, {}, "0").passed, one.name
