"""The command line, `simia`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import TextIOWrapper


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default with the arguments of the process, and exit with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # show "?" for characters that the terminal cannot encode
    try:
        from simia_gym.cli.app import run  # imported here to keep the import of the package fast

        code = run(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:  # before the command started
        sys.stderr.write("simia: interrupted\n")
        code = 130
    sys.exit(code)
