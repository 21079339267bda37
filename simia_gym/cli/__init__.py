"""The command line, `simia`."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    Args:
        arguments: Words after the program's name; those of the process where left out.
    """
    from simia_gym.cli.app import run  # here, so that importing the package does not pay for it

    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))
