"""Runs commands and code of the pages, each in a process of its own that has heavy libraries loaded already.

    python docs_runner.py LIBRARY...

Takes orders as JSON lines and answers each with its exit code: ``words`` of a command (``simia ...`` or
``python -m MODULE ...``) or Python ``code``, ``folder``, ``environment`` and the file for its ``output``.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import traceback
from typing import Any


def obey(order: dict[str, Any]) -> int:
    """Do what is asked, in this process; give its exit code."""
    os.chdir(order["folder"])
    os.environ.update(order["environment"])
    sys.path.insert(0, order["folder"])
    try:
        if "code" in order:
            exec(compile(order["code"], "page.py", "exec"), {"__name__": "__main__"})
            return 0
        words: list[str] = order["words"]
        if words[0] == "simia":
            from simia_gym.cli.app import run

            sys.argv = words
            return run(words[1:])
        assert words[:2] == ["python", "-m"], words
        sys.argv = words[2:]
        runpy.run_module(words[2], run_name="__main__", alter_sys=True)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def main() -> None:
    """Take orders until there are no more."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            out = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            nothing = os.open(os.devnull, os.O_RDONLY)
            for old, new in ((nothing, 0), (out, 1), (out, 2)):
                os.dup2(old, new)
            sys.exit(obey(order))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
