"""The shell itself: what scripts change becomes rows, and rows become files again."""

from __future__ import annotations

import pytest

from simia_gym.domain.domain import Domain
from simia_gym.state import State
from simia_gym.types import ToolCall, Transition

from ..proof.stage import suite_of
from ..sandbox.conftest import needs_sandbox

pytestmark = needs_sandbox


@pytest.fixture(scope="module")
def domain() -> Domain:
    return suite_of("simia/os-v0").domain


def run(domain: Domain, state: State, *scripts: str) -> tuple[Transition, State]:
    """Run scripts one after another; the last answer, and the state then."""
    assert domain.world is not None
    answers = []
    for script in scripts:
        answers.append(domain.world.call(state, ToolCall("bash_action", {"script": script})))
        state = state.apply(answers[-1].ops or ())
        assert answers[-1].state is None or answers[-1].state.touched_since(state) == []
    return answers[-1], state


@pytest.mark.parametrize(
    ("writes", "reads", "shows"),
    [
        ("echo hi > 'a b'", "cat 'a b'", "hi\n"),
        (r"printf 'a\377b' > bytes", "od -An -tx1 bytes", " 61 ff 62\n"),
        (r"touch $'n\377me'", "ls -b", "n\\377me\n"),
        (r"printf 'base64:QQ==' > text", "cat text", "base64:QQ=="),
        ("ln -s /nowhere/at/all gone; ln -s base64:QQ== odd", "readlink gone odd", "/nowhere/at/all\nbase64:QQ==\n"),
        ("mkfifo pipe; mkdir -m 3770 box", "stat -c '%F %a' pipe box", "fifo 644\ndirectory 3770\n"),
        ("touch f; chmod 4751 f", "stat -c %a f", "4751\n"),
        ("touch -d '2001-02-03 04:05:06' old", "stat -c %y old", "2001-02-03 04:05:06.000000000 +0000\n"),
        ("touch a; touch -d '3 days ago' b", "find . -type f -mtime +2", "./b\n"),
        ("echo 1 > a", "ls -t; [ a -nt /root/.profile ] && echo newer", "a\nnewer\n"),
        ("x=$'a\\377'; f() { echo $x | od -An -tx1; }; cd /var", "pwd; f", "/var\n 61 ff 0a\n"),
        ("for i in $(seq 400); do echo $i > f$i; done", "ls | wc -l; cat f400", "400\n400\n"),
        ("rm -r /root/.bashrc; mkdir /root/.bashrc", "stat -c %F /root/.bashrc", "directory\n"),
    ],
)
def test_what_a_script_writes_is_there_for_the_next_one(domain: Domain, writes: str, reads: str, shows: str) -> None:
    done, state = run(domain, domain.base, "mkdir /srv/new; cd /srv/new", writes, reads)
    assert done.observation == f"The output of the OS:\n\n{shows}"
    schema = domain.state_schema
    assert schema is not None
    assert list(schema.problems(state, state.touched_since(domain.base))) == []


def test_two_runs_have_the_same_rows(domain: Domain) -> None:
    scripts = (
        "cd /srv; echo $RANDOM > a",
        "mkdir b; cp -p a b; touch -d yesterday c",
        "ls -l > /tmp/l",
    )
    _, first = run(domain, domain.base, *scripts)
    _, second = run(domain, domain.base, *scripts)
    changed = {table for table, _ in second.touched_since(first)}
    assert changed <= {"scratch"}  # where the times stand that ls has written


def test_who_is_stopped_has_changed_nothing(domain: Domain) -> None:
    done, state = run(domain, domain.base, "echo a > /srv/a; cd /var; yes | head -c 3000000")
    assert (done.outcome, done.error_code, done.ops) == ("error", "output", ())
    assert state.touched_since(domain.base) == []


@pytest.mark.parametrize(("length", "shown"), [(800, 800), (801, 780)])
def test_a_long_output_is_shown_by_its_beginning(domain: Domain, length: int, shown: int) -> None:
    done, _ = run(domain, domain.base, f"printf 'x%.0s' $(seq {length})")
    cut = "" if shown == length else "\n[truncated because the output is too long]"
    assert done.observation == f"The output of the OS:\n\n{'x' * shown}{cut}"


def test_what_a_model_sees_of_a_large_tree(domain: Domain) -> None:
    """The file that the script names, the folders, and a listing of the others; the limit of a slice holds."""
    fill = "mkdir /srv/many; cd /srv/many; for i in $(seq 300); do seq 200 > part$i.txt; done; echo found > key.txt"
    _, state = run(domain, domain.base, fill)
    call = ToolCall("bash_action", {"script": "cat /srv/many/key.txt"})
    slice_ = domain.slicers["bash_action"](state, call)
    assert slice_.size < domain.config.limits.slice
    tables = slice_.tables
    assert tables["files"]["/srv/many/key.txt"]["text"] == "found\n"
    assert "/srv/many" in tables["files"]
    assert "/srv/many/part7.txt" not in tables["files"]
    assert tables["listing"]["/srv/many/part7.txt"] == {"kind": "file", "mode": "0644", "bytes": 692}
