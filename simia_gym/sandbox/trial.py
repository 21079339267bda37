"""Whether sandboxes work on this machine, found out by running a command in one."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from simia_gym.errors import Fault, SandboxUnavailable
from simia_gym.sandbox.sandbox import Sandbox
from simia_gym.sandbox.shell import new_shell

WAYS = ("unshare", "bwrap")
_TOOLS = """
awk base64 basename bash bzip2 cat chmod cmp comm cp cut date diff dirname du env expr file find fold grep gzip head
ln ls md5sum mkdir mktemp mv nl od paste patch perl printf ps python3 readlink realpath rm rmdir sed seq sha256sum
sleep sort split stat strings tac tail tar tee test touch tr tree uniq unzip wc which xargs xxd xz zip
"""
TOOLS = tuple(_TOOLS.split())
_INSTALL = "Install bubblewrap (`apt-get install bubblewrap`) where the kernel lets only that make user namespaces"
_SYSCTL = "allow them: `sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000`"
_DOCKER = (
    "Inside Docker the container needs `--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
    "--security-opt systempaths=unconfined`"
)
_KUBERNETES = (
    "inside Kubernetes the container's `securityContext` needs `seccompProfile: {type: Unconfined}`, "
    "`appArmorProfile: {type: Unconfined}` and `procMount: Unmasked` (the last with `hostUsers: false` in the pod)"
)


def working_way() -> str:
    """The first of `WAYS` that makes a sandbox in which a command runs.

    Raises:
        SandboxUnavailable: None does.
    """
    way, reasons = _tried(os.getpid())
    if way is None:
        raise SandboxUnavailable(f"no sandbox for commands can be made here ({'; '.join(reasons)})", fix=_fix())
    return way


def why_not(way: str) -> str | None:
    """Try one way; why no command runs in a sandbox that is made by it, or ``None`` if one does."""
    if sys.platform != "linux":
        return f"sandboxes need Linux, and this is {platform.system()}"
    if not os.access("/bin/bash", os.X_OK):
        return "there is no /bin/bash"
    try:
        with Sandbox(way=way) as sandbox:
            done = sandbox.run("echo $((6 * 7)) > /tmp/a; cat /tmp/a", new_shell())
            written = sandbox.tree().get("/tmp/a")
    except Fault as error:
        return error.message.removeprefix("no sandbox was made: ")
    if (done.code, done.output) != (0, b"42\n") or written is None or written.data != b"42\n":
        return f"its first command ended with {done.code} and said {done.output[:200]!r}"
    return None


def missing_tools(tools: Sequence[str] = TOOLS) -> list[str]:
    """Those programs that a command in a sandbox does not find.

    Raises:
        SandboxUnavailable: There is no sandbox.
    """
    with Sandbox() as sandbox:
        done = sandbox.run("\n".join(map(_look_for, tools)), new_shell())
    return done.output.decode().split()


def findings() -> Iterator[tuple[str, bool | None, str]]:
    """What `simia doctor` says: names, whether each is in order (``None`` if either is fine), and what was found."""
    try:
        way = working_way()
        missing = missing_tools()
    except SandboxUnavailable as error:
        yield "sandbox", None, str(error)
        return
    yield "sandbox", True, f"a command ran in one, made by {way}"
    yield "tools", None if missing else True, f"missing inside: {' '.join(missing)}" if missing else "all are there"


def _look_for(tool: str) -> str:
    return f"type -P {tool} >/dev/null || echo {tool}"


@cache
def _tried(_process: int) -> tuple[str | None, list[str]]:
    reasons: list[str] = []
    for way in WAYS:
        reason = why_not(way)
        if reason is None:
            return way, reasons
        reasons.append(f"{way}: {reason}")
    return None, reasons


def _fix() -> str:
    if sys.platform != "linux":
        return "Use Linux, or a container that runs it."
    if not os.access("/bin/bash", os.X_OK):
        return "Install it: `apt-get install bash`, `apk add bash`."
    marks = (Path("/.dockerenv"), Path("/run/.containerenv"))
    inside = any(mark.exists() for mark in marks) or "KUBERNETES_SERVICE_HOST" in os.environ
    machine = f"{_INSTALL}, or {_SYSCTL}"
    container = f"{_DOCKER}; {_KUBERNETES}"
    return f"{container}. On the machine itself: {machine}." if inside else f"{machine}. {container}."
