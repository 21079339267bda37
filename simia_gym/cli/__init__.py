"""The command line, `simia`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Args:
        arguments: Words after the program's name; those of the process where left out.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a letter shows "?" and no traceback
    try:
        from simia_gym.cli.app import run  # here, so that importing the package does not pay for it

        code = run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:  # before the command had begun
        sys.stderr.write("simia: interrupted\n")
        code = 130
    sys.exit(code)
