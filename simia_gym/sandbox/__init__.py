"""Commands that run where they can harm nothing, on a tree of files that is a plain mapping.

The room knows paths and bytes, and no domain. What a command may do is bounded by the Linux kernel: namespaces, a
read-only file system, limits, no capability, and a filter of system calls.
"""

from __future__ import annotations

from simia_gym.errors import SandboxUnavailable
from simia_gym.sandbox.entries import Entry, Tree, folder
from simia_gym.sandbox.limits import Limits
from simia_gym.sandbox.masks import MASKS
from simia_gym.sandbox.pool import Pool
from simia_gym.sandbox.sandbox import ROOTS, Result, Sandbox
from simia_gym.sandbox.shell import Shell, new_shell
from simia_gym.sandbox.threads import in_thread
from simia_gym.sandbox.trial import missing_tools, working_way

__all__ = [
    "MASKS",
    "ROOTS",
    "Entry",
    "Limits",
    "Pool",
    "Result",
    "Sandbox",
    "SandboxUnavailable",
    "Shell",
    "Tree",
    "folder",
    "in_thread",
    "missing_tools",
    "new_shell",
    "working_way",
]
