"""What a sandbox does for honest commands."""

from __future__ import annotations

import multiprocessing
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import pytest

from simia_gym.errors import Fault, InputError
from simia_gym.sandbox import Entry, Limits, Sandbox, Shell, folder, new_shell
from simia_gym.sandbox.keeping import Keeper
from simia_gym.sandbox.trial import WAYS, why_not

from .conftest import SMALL, needs_sandbox

pytestmark = needs_sandbox

TREE = {
    "/home/ann": folder(0o700, time=1_600_000_000),
    "/home/ann/a.sh": Entry("file", 0o4755, b"#!/bin/sh\necho ran\n", time=1_500_000_000),
    "/home/ann/bytes\udcff": Entry("file", 0o600, bytes(range(256)) * 40),
    "/home/ann/empty": Entry("file", 0o444),
    "/home/ann/link": Entry("link", target="a.sh"),
    "/home/ann/pipe": Entry("fifo", 0o622),
    "/home/ann-b": folder(0o000),
    "/srv": folder(0o750),
}


def test_a_tree_comes_back_as_it_was_put(sandbox: Sandbox) -> None:
    sandbox.put(TREE)
    assert sandbox.run("echo x > /tmp/x; rm /tmp/x", new_shell()).changed
    found = sandbox.tree()
    bare = {"/home": folder(), "/root": folder(), "/tmp": found["/tmp"], "/var": folder()}
    assert found == {**TREE, **bare}
    assert list(found) == sorted(found, key=os.fsencode)
    assert (found["/tmp"].mode, found["/tmp"].time > 1_700_000_000) == (0o1777, True)


def test_a_command_sees_and_changes_the_tree(sandbox: Sandbox) -> None:
    sandbox.put(TREE)
    done = sandbox.run(
        "cd /home/ann && ./a.sh >&2 && stat -c '%a %Y %s' a.sh && cp a.sh b && rm empty && exit 7", new_shell()
    )
    assert (done.code, done.output, done.stopped, done.changed) == (7, b"ran\n4755 1500000000 19\n", "", True)
    assert sandbox.tree()["/home/ann/b"].data == TREE["/home/ann/a.sh"].data
    assert "/home/ann/empty" not in sandbox.tree()
    assert done.shell.cwd == "/home/ann"


@pytest.mark.parametrize(
    ("script", "changed"),
    [
        ("cat /home/ann/a.sh > /dev/null; ls -R /home /etc", False),
        ("chmod 755 /home/ann/a.sh", True),
        ("touch -d @1500000000 /home/ann/a.sh", True),
        ("echo > /tmp/x; rm /tmp/x", True),
        ("mv /home/ann/a.sh /home/ann/c.sh; mv /home/ann/c.sh /home/ann/a.sh", True),
    ],
)
def test_it_is_known_whether_a_command_changed_anything(script: str, changed: bool, sandbox: Sandbox) -> None:
    sandbox.put(TREE)
    assert sandbox.run(script, new_shell()).changed is changed
    assert sandbox.run("cat /home/ann/*.sh", new_shell()).changed is False
    before = dict(sandbox.tree())
    assert sandbox.run("echo x > /srv/x", new_shell()).changed
    sandbox.put(before)
    assert dict(sandbox.tree()) == before


@pytest.mark.parametrize("way", WAYS)
def test_every_way_makes_a_sandbox(way: str) -> None:
    if reason := why_not(way):
        pytest.skip(reason)
    with Sandbox(way=way) as sandbox:
        assert sandbox.run("id -u; cat /proc/1/comm > /tmp/a; echo a", new_shell()).output == b"0\na\n"


def test_output_is_that_of_bash() -> None:
    with Sandbox(SMALL) as sandbox:
        done = sandbox.run("nothing_like_this\nif then\n", new_shell())
    assert done.output.startswith(b"bash: line 1: nothing_like_this: command not found\nbash: -c: line 2: syntax error")
    assert done.code == 2


@pytest.mark.parametrize(
    ("script", "stopped", "code"),
    [
        ("rm -rf /home/ann; x=2; echo begun; sleep 60", "time", 124),
        ("rm -rf /home/ann; x=2; while :; do :; done", "time", 124),
        ("rm -rf /home/ann; x=2; yes", "output", 137),
        ("rm -rf /home/ann; x=2; head -c 300000 /dev/zero", "output", 137),
        ("rm -rf /home/ann; x=2; for i in 1 2 3 4; do truncate -s 3M /tmp/$i; done", "disk", 137),
    ],
)
def test_a_command_beyond_a_limit_changes_nothing(script: str, stopped: str, code: int) -> None:
    with Sandbox(Limits(time=1, output=200_000, disk=8 << 20)) as sandbox:
        sandbox.put(TREE)
        first = sandbox.run("x=1; echo new > /srv/new", new_shell())
        before = dict(sandbox.tree())
        done = sandbox.run(script, first.shell)
        assert (done.stopped, done.code, done.changed, done.shell) == (stopped, code, False, first.shell)
        assert len(done.output) <= 200_000
        after = sandbox.run("echo $x; cat /srv/new; echo /proc/[0-9]*", done.shell)
        assert (dict(sandbox.tree()), after.output) == (before, b"1\nnew\n/proc/1 /proc/2\n")


def test_what_a_stopped_command_wrote_is_shown() -> None:
    with Sandbox(Limits(time=1)) as sandbox:
        assert sandbox.run("echo begun; sleep 60", new_shell()).output == b"begun\n"


COMMANDS = (
    "ls -la --full-time",
    "ls -laiU /home /home/ann /srv",
    "find / -xdev -path /etc -prune -o -path /usr -prune -o -path /dev -prune -o -print",
    "du -ab . | sort",
    "tar cf - -C / home srv | md5sum",
    "stat -c '%n %s %b %a %Y %i' * .",
    "grep -r ran . ; echo $? $$ $RANDOM $BASHPID $(echo $BASHPID)",
    "mkdir -p d/e; echo $RANDOM > d/e/$RANDOM; cd d",
    "cd ~; n=$((n + 1)); echo $n >> log",
    "truncate -s 5000 holes; ln -f log log2; ln -s log l3",
    "rm -rf d; mv log2 /tmp/log$n",
    "printf 'x%.0s' {1..3000} >> big; sed -i s/x/y/ big",
    "f() { echo f$n; }; f; alias g=f; shopt -s expand_aliases",
    "g; type g; set -o | md5sum; cd /srv; pwd; echo $OLDPWD",
)


def play(dropping: random.Random | None) -> list[bytes]:
    """Two hundred commands, after each of which the sandbox is kept or replaced by a new one."""
    order = random.Random(5)
    shell, seen = new_shell(home="/home/ann"), []
    tree = {path: entry for path, entry in TREE.items() if path != "/home/ann-b"}
    sandbox = Sandbox(SMALL)
    for _ in range(200):
        if dropping is not None and dropping.random() < 0.3:
            sandbox.close()
            sandbox = Sandbox(SMALL)
        sandbox.put(tree)
        done = sandbox.run(order.choice(COMMANDS), shell)
        # What a command writes gets the time of the clock, which no sandbox repeats.
        tree = {path: replace(entry, time=min(entry.time, 1_700_000_000)) for path, entry in sandbox.tree().items()}
        shell = done.shell
        seen.append(done.output)
    sandbox.close()
    return seen


@pytest.mark.slow
def test_a_kept_sandbox_equals_a_new_one() -> None:
    kept = play(None)
    assert len(set(kept)) > 30
    assert play(random.Random(1)) == kept


@pytest.mark.parametrize(
    ("tree", "says"),
    [
        ({"/etc/passwd": Entry("file")}, "outside of the writable roots"),
        ({"/home/../etc/x": Entry("file")}, "no absolute path"),
        ({"/home/a//b": Entry("file")}, "no absolute path"),
        ({"home/a": Entry("file")}, "no absolute path"),
        ({"/home/a\0": Entry("file")}, "no absolute path"),
        ({"/home": Entry("link", target="/etc")}, "must be a directory"),
        ({"/home/a": Entry("link", target="/etc"), "/home/a/passwd": Entry("file")}, "no directory of the tree"),
        ({"/home/a/b": Entry("file")}, "no directory of the tree"),
        ({"/home/a": Entry("file", 0o100644)}, "mode"),
        ({"/home/a": Entry("link")}, "a link to nothing"),
        ({"/home/a": Entry("device")}, "kind"),  # type: ignore[arg-type]
        ({"/home/a": Entry("file", data=bytes(9 << 20))}, "beyond the limits"),
        ({f"/home/{i}": Entry("file") for i in range(600)}, "beyond the limits"),
    ],
)
def test_a_tree_that_cannot_be_laid_out_is_refused(tree: dict[str, Entry], says: str, sandbox: Sandbox) -> None:
    sandbox.put(TREE)
    before = dict(sandbox.tree())
    with pytest.raises(InputError, match=says):
        sandbox.put(tree)
    assert sandbox.run("cat /home/ann/a.sh", new_shell()).code == 0
    assert dict(sandbox.tree()) == before


def test_the_largest_tree_that_is_read_can_be_put_again(sandbox: Sandbox) -> None:
    script = "cd /tmp; head -c 6000000 /dev/urandom | split -b 20000 -a 3; truncate -s 1M h"
    script += "; ln -s $(printf 'x%.0s' {1..200}) l"
    assert sandbox.run(script, new_shell()).stopped == ""
    tree = dict(sandbox.tree())
    with Sandbox(SMALL) as other:
        other.put(tree)
        other.run(": > /srv/x", new_shell())
        assert {**other.tree(), "/srv": tree["/srv"]} == {**tree, "/srv/x": other.tree()["/srv/x"]}


@pytest.mark.parametrize("script", ["x" * 200_000, "echo \0"])
def test_a_script_that_no_shell_takes_is_refused(script: str, sandbox: Sandbox) -> None:
    with pytest.raises(InputError, match="131,071 bytes, and no NUL"):
        sandbox.run(script, new_shell())
    longest = "#" * 131_071
    assert sandbox.run(longest, new_shell()).code == 0


@pytest.mark.parametrize("root", ["/", "/usr/local", "/proc", "/home/../etc", "tmp", "/tmp/", "/var/x"])
def test_roots_that_overlap_are_refused(root: str) -> None:
    with pytest.raises(InputError, match="the root"):
        Sandbox(roots=("/var", root))


@pytest.mark.parametrize("limit", [{"time": 0}, {"memory": -1}, {"open_files": 3}])
def test_limits_are_numbers_that_a_shell_can_live_with(limit: dict[str, int]) -> None:
    with pytest.raises(InputError):
        Limits(**limit)


def test_other_roots() -> None:
    with Sandbox(roots=("/data", "/etc/app", "/tmp")) as sandbox:
        sandbox.put({"/etc/app/a.conf": Entry("file", data=b"port=1\n")})
        done = sandbox.run(
            "sed -i s/1/2/ /etc/app/a.conf; echo x > /data/x; : > /etc/x; : > /home/x", new_shell(home="/data")
        )
        assert done.output.count(b"\n") == 2
        assert sandbox.tree()["/etc/app/a.conf"].data == b"port=2\n"


def test_many_at_once() -> None:
    def one(number: int) -> bytes:
        with Sandbox(SMALL) as sandbox:
            first = sandbox.run(f"echo {number} >> /tmp/a", new_shell())
            return sandbox.run(f"echo {number} >> /tmp/a; cat /tmp/a; echo /proc/[0-9]*", first.shell).output

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(16))) == [b"%d\n%d\n/proc/1 /proc/2\n" % (n, n) for n in range(16)]


def _in_a_fork(told: SimpleQueue[bytes]) -> None:
    with Sandbox(SMALL) as sandbox:
        told.put(sandbox.run("echo here", new_shell()).output)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_makes_its_own(sandbox: Sandbox) -> None:
    context = multiprocessing.get_context("fork")
    told: SimpleQueue[bytes] = context.SimpleQueue()
    child = context.Process(target=_in_a_fork, args=(told,))
    child.start()
    child.join()
    assert told.get() == b"here\n"
    assert sandbox.run("echo there", new_shell()).output == b"there\n"


def test_a_sandbox_that_ends_is_a_fault_of_the_world() -> None:
    sandbox = Sandbox(SMALL)
    sandbox.close()
    with pytest.raises(Fault, match=r"world fault \(sandbox\)"):
        sandbox.run("echo", new_shell())


def test_an_answer_that_nobody_waits_for_is_never_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with Sandbox(SMALL) as sandbox:
        with monkeypatch.context() as patch:
            patch.setattr("simia_gym.sandbox.sandbox.receive", _interrupt)
            with pytest.raises(KeyboardInterrupt):
                sandbox.run("echo late", new_shell())
        with pytest.raises(Fault, match="sandbox has ended"):
            sandbox.run("echo next", new_shell())


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_nothing_is_left_when_it_is_closed_in_the_middle() -> None:
    sandbox = Sandbox(Limits(time=60))
    found: list[BaseException] = []

    def run() -> None:
        try:
            sandbox.run("sleep 60", new_shell())
        except Fault as fault:
            found.append(fault)

    thread = threading.Thread(target=run)
    thread.start()
    sandbox._end.shutdown(2)
    thread.join()
    assert len(found) == 1
    sandbox.close()


@pytest.mark.parametrize("way", WAYS)
def test_no_process_is_left_when_it_is_closed(way: str) -> None:
    if reason := why_not(way):
        pytest.skip(reason)

    def descendants(process: int) -> set[int]:
        try:
            found = {int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()}
        except OSError:  # it has ended
            found = set()
        return found.union(*map(descendants, found))

    keeper = Keeper.current().pid
    before = descendants(keeper)
    several = [Sandbox(SMALL, way=way) for _ in range(10)]
    mine = descendants(keeper) - before
    assert len(mine) >= 20
    for sandbox in several:
        sandbox.close()
    for _ in range(1000):
        if not mine & descendants(keeper):
            return
        time.sleep(0.01)
    pytest.fail(f"these are left: {mine & descendants(keeper)}")


def test_a_keeper_that_ends_is_replaced() -> None:
    Sandbox(SMALL).close()
    os.kill(Keeper.current().pid, 9)
    with Sandbox(SMALL) as sandbox:
        assert sandbox.run("echo again", new_shell()).output == b"again\n"


def test_the_shell_is_a_plain_value(sandbox: Sandbox) -> None:
    done = sandbox.run("a=1", new_shell())
    assert done.shell == sandbox.run("a=1", new_shell()).shell
    assert isinstance(done.shell, Shell)
    assert sandbox.run("", done.shell).shell == done.shell
