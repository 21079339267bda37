"""What hostile commands try fails in sandboxes of root and of an ordinary user, and the next episode is clean."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from simia_gym.sandbox import Entry, Limits, Sandbox, folder, new_shell
from simia_gym.sandbox.keeping import Keeper

from ..sweeps import sweep
from .conftest import SMALL, needs_sandbox, python_for_an_ordinary_user

pytestmark = [needs_sandbox, pytest.mark.usefixtures("identity")]

SECRET = "canary-7f3a9c"
LIMITS = Limits(time=60, output=100_000, disk=8 << 20, inodes=512, memory=128 << 20, processes=16, file_size=4 << 20)
TREE = {
    "/home/ann": folder(0o700),
    "/home/ann/notes": Entry("file", 0o600, b"mine\n"),
    "/home/ann/l": Entry("link", target="/"),
}
PYTHON = """
import ctypes, os, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
uname = os.uname().machine
"""
LOOK = """
ls -lAR --time-style=+%s /home /root /tmp /srv /var
ls -lA --time-style=+%s /etc /dev
ls -A /
cat /home/ann/notes
echo /proc/[0-9]* $$ $RANDOM $(hostname) $(umask) $(pwd) $(nproc) $(nice)
ls -l /proc/self/fd | wc -l
cut -d' ' -f18,19,41 /proc/1/stat
ulimit -a
env
cat /proc/net/dev /proc/sysvipc/*
df -i /tmp
"""
WORDS = re.compile(r"@(canary|port|abstract|descriptor|pid|parent)\b")


class Attempt(NamedTuple):
    """A script, and the limits that may stop it."""

    script: str
    stopped: tuple[str, ...]


def attempts() -> dict[str, Attempt]:
    """All attempts, by class and name."""
    text = Path(__file__).with_name("attempts.yaml").read_text(encoding="utf-8")
    found = {}
    for kind, several in yaml.safe_load(text).items():
        for name, parts in several.items():
            script = parts.get("bash", "")
            if "python" in parts:
                script += f"\npython3 - <<'CODE'\n{PYTHON}{parts['python']}\nCODE\n"
            found[f"{kind}: {name}"] = Attempt(script, tuple(parts.get("stopped", [""])))
    return found


ATTEMPTS = attempts()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    """What an attempt looks for: a file, an environment, servers, an open descriptor, processes."""
    path = tmp_path_factory.mktemp("canary") / "secret"
    path.write_text(SECRET)
    path.chmod(0o644)
    server = socket.create_server(("127.0.0.1", 0))
    abstract, named = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    abstract.bind(f"\0simia-{os.getpid()}")
    named.bind(f"{path}.sock")
    for each in (abstract, named):
        each.listen()
    os.environ["CANARY"] = SECRET
    descriptor = os.open(path, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    yield {
        "canary": path, "port": server.getsockname()[1], "abstract": f"simia-{os.getpid()}", "descriptor": descriptor,
        "pid": os.getpid() + 100_000 if os.getpid() < 100 else os.getpid(), "parent": max(os.getppid(), 100),
    }  # fmt: skip
    del os.environ["CANARY"]
    os.close(descriptor)
    for each in (server, abstract, named):
        each.close()


@pytest.fixture(scope="module", params=["root", "user"])
def identity(
    request: pytest.FixtureRequest, places: dict[str, object], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Who makes the sandboxes. Their process starts when there is everything to look for."""
    who: str = request.param
    program = sys.executable
    if who == "root" and os.getuid() != 0:
        pytest.skip("only root can try what root can do")
    if who == "user" and os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv of util-linux makes an ordinary user of root")
        found = python_for_an_ordinary_user(tmp_path_factory.mktemp("python"))
        if found is None:
            pytest.skip("an ordinary user may read neither this Python and this checkout, nor another")
        program = found
    before, executable = Keeper._current, sys.executable
    sys.executable = program
    try:
        mine = Keeper._current = Keeper()
    finally:
        sys.executable = executable
    yield who
    mine.close()
    Keeper._current = before


@pytest.fixture(scope="module")
def kept(identity: str) -> Iterator[Sandbox]:
    """One sandbox for nearly all attempts of one user."""
    with Sandbox(LIMITS) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def hasty(identity: str) -> Iterator[Sandbox]:
    """One for those that the time may stop."""
    with Sandbox(replace(LIMITS, time=1.5)) as sandbox:
        yield sandbox


@pytest.fixture(scope="module")
def clean(identity: str) -> bytes:
    """What a new sandbox shows."""
    with Sandbox(LIMITS) as sandbox:
        sandbox.put(TREE)
        return sandbox.run(LOOK, new_shell()).output


@pytest.mark.parametrize("name", sweep(ATTEMPTS, 40))
@pytest.mark.sampled
def test_an_attempt_gets_nothing(
    name: str, kept: Sandbox, hasty: Sandbox, clean: bytes, places: dict[str, object], tmp_path: Path
) -> None:
    attempt = ATTEMPTS[name]
    if "time" in attempt.stopped:
        kept = hasty
    kept.put(TREE)
    before = dict(kept.tree())
    if "python3" in attempt.script and kept.run("type python3", new_shell()).code:
        pytest.skip("there is no python3 inside")
    done = kept.run(WORDS.sub(lambda word: str(places[word[1]]), attempt.script), new_shell())
    assert b"GOT" not in done.output
    assert SECRET.encode() not in done.output
    assert done.stopped in attempt.stopped
    assert len(done.output) <= LIMITS.output
    after = dict(kept.tree())
    if done.stopped:
        assert after == before
    assert not any(SECRET.encode() in entry.data for entry in after.values())
    assert all(path.startswith(kept.roots) for path in after)
    assert sum(len(entry.data) for entry in after.values()) <= LIMITS.disk
    # What was left can be put into another episode, or somebody else's.
    if done.changed:
        kept.put(after)
        assert dict(kept.tree()) == after
    # The next command of the same episode works, and sees nobody; then the next episode begins.
    assert kept.run("echo next /proc/[0-9]*", new_shell("/")).output == b"next /proc/1 /proc/2\n"
    kept.put(TREE)
    assert kept.run(LOOK, new_shell()).output == clean
    assert Path(str(places["canary"])).read_text() == SECRET


@pytest.mark.parametrize(
    "name",
    [
        "files: a file by its path",
        "files: a link to it",
        "environment: its own environment",
        "environment: descriptors that were left open",
        "network: a server of the machine",
        "network: an abstract socket",
        "network: a socket by its path",
        "processes: killing outside",
        "exhaustion: one large file",
        "exhaustion: descriptors",
        "exhaustion: memory of a program",
    ],
)
def test_it_succeeds_without_a_sandbox(name: str, places: dict[str, object], tmp_path: Path) -> None:
    script = ATTEMPTS[name].script.replace("/tmp/", f"{tmp_path}/")
    script = WORDS.sub(lambda word: str(places[word[1]]), script)
    done = subprocess.run(["bash", "-c", script], capture_output=True, close_fds=False, check=False)
    assert b"GOT" in done.stdout


def test_there_are_enough_of_each_class() -> None:
    classes = Counter(name.partition(":")[0] for name in ATTEMPTS)
    assert len(ATTEMPTS) >= 100
    assert (len(classes), min(classes.values())) == (8, 7)


def test_one_beyond_its_limits_costs_another_nothing(identity: str) -> None:
    with Sandbox(SMALL) as one, Sandbox(SMALL) as other:
        one.run("for i in 1 2 3; do head -c 3000000 /dev/zero > /tmp/$i; done", new_shell())
        done = other.run(
            "head -c 4M /dev/zero > /tmp/a && for i in {1..10}; do sleep 0.1 & done; wait; echo fine", new_shell()
        )
        assert done.output == b"fine\n"


def test_root_becomes_somebody_else_first(identity: str, kept: Sandbox) -> None:
    outside = kept.run("awk '{print $2}' /proc/self/uid_map /proc/self/gid_map", new_shell()).output.split()
    expected = {"root": b"65534", "user": b"1234" if os.getuid() == 0 else str(os.getuid()).encode()}[identity]
    assert outside[0] == expected


@pytest.mark.parametrize("limit", ["memory", "processes", "open_files", "file_size"])
def test_limits_hold_inside(limit: str, identity: str) -> None:
    letter, unit = {"memory": ("v", 1024), "processes": ("u", 1), "open_files": ("n", 1), "file_size": ("f", 1024)}[
        limit
    ]
    with Sandbox(SMALL) as sandbox:
        told = sandbox.run(f"ulimit -S{letter}; ulimit -H{letter}", new_shell()).output.split()
    extra = 1 if limit == "processes" else 0
    assert {int(value) * unit - extra for value in told} == {getattr(SMALL, limit)}
