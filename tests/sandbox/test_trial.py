"""What is said where no sandbox can be made, and which tools commands find."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from simia_gym.errors import InputError, SandboxUnavailable
from simia_gym.sandbox import missing_tools, trial

from .conftest import needs_sandbox

# The kernel refuses every user namespace below one whose limit is zero. In it we are an ordinary user.
BARE = """
import os, sys, types
for name in ("simia_gym", "simia_gym.sandbox"):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [sys.argv[1] + "/" + name.replace(".", "/")]
"""
REFUSED = """
from simia_gym.sandbox.inside import kernel
user, group = os.getuid(), os.getgid()
kernel.unshare(kernel.CLONE_NEWUSER)
for name, text in (("setgroups", "deny"), ("uid_map", f"1000 {user} 1"), ("gid_map", f"1000 {group} 1")):
    with open(f"/proc/self/{name}", "w") as file:
        file.write(text)
kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWPID)
pid = os.fork()
if pid:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
kernel.mount("none", "/", None, kernel.MS_REC | kernel.MS_PRIVATE)
kernel.mount("proc", "/proc", "proc", 0)
with open("/proc/sys/user/max_user_namespaces", "w") as file:
    file.write("0")
os.execv(sys.argv[2], [sys.argv[2], "-c", sys.argv[3]])
"""


def where_namespaces_are_refused(checkout: Path, code: str) -> subprocess.CompletedProcess[str]:
    """What a program does as an ordinary user of a machine whose kernel makes no user namespaces."""
    words = [sys.executable, "-I", "-S", "-c", BARE + REFUSED, str(checkout), sys.executable, textwrap.dedent(code)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@needs_sandbox
def test_without_any_way_it_is_said_what_to_do(checkout: Path) -> None:
    done = where_namespaces_are_refused(
        checkout,
        """
        from simia_gym.errors import InputError
        from simia_gym.sandbox import Sandbox, SandboxUnavailable
        try:
            Sandbox()
        except SandboxUnavailable as error:
            assert isinstance(error, InputError)
            print(error)
    """,
    )
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
    for text in (
        "unshare: ",
        "bwrap: ",
        "apt-get install bubblewrap",
        "kernel.unprivileged_userns_clone=1",
        "seccomp=unconfined",
        "apparmor=unconfined",
        "systempaths=unconfined",
        "procMount: Unmasked",
    ):
        assert text in done.stdout


@needs_sandbox
def test_doctor_notes_that_there_is_none(checkout: Path) -> None:
    done = where_namespaces_are_refused(
        checkout,
        """
        from simia_gym.sandbox.trial import findings
        (found,) = findings()
        print(found[0], found[1], "apt-get install bubblewrap" in found[2])
    """,
    )
    assert (done.returncode, done.stdout) == (0, "sandbox None True\n"), done.stderr


@needs_sandbox
def test_missing_tools_are_those_that_a_command_does_not_find() -> None:
    assert missing_tools(["cat", "no-such-tool", "sh", "cd"]) == ["no-such-tool", "cd"]


def test_the_fix_depends_on_where_we_are(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = trial._fix()
    monkeypatch.setattr(sys, "platform", "darwin")
    assert trial.why_not("unshare") is not None
    assert trial._fix().startswith("Use Linux")
    assert "apt-get install bubblewrap" in inside


def test_without_bash_it_is_bash_that_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert trial.why_not("unshare") == "there is no /bin/bash"
    assert "apk add bash" in trial._fix()


def test_it_is_an_error_of_the_input() -> None:
    assert issubclass(SandboxUnavailable, InputError)


def test_a_room_of_the_standard_library(checkout: Path) -> None:
    """What runs inside imports nothing that is not part of Python, or of the room itself."""
    code = (
        BARE
        + """
import simia_gym.sandbox.inside.keeper
print(*sorted({name.partition(".")[0] for name in sys.modules} - set(sys.stdlib_module_names) - {"__main__"}))
"""
    )
    words = [sys.executable, "-I", "-S", "-c", code, str(checkout)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == ["simia_gym"]
