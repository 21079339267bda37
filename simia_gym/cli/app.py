"""The command line application: commands, error messages and exit codes."""

from __future__ import annotations

import errno
import logging
import os
import sys
from typing import Annotated

import typer

from simia_gym.cli.commands import Commands, commands
from simia_gym.common.output import complain, tell
from simia_gym.errors import SimiaError

EXIT_INVALID = 1
EXIT_INPUT = 2
EXIT_INTERRUPTED = 130
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

app = typer.Typer(
    name="simia",
    cls=Commands,
    help="Environments for tool-using agents, with rewards that can be traced to evidence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run(arguments: list[str]) -> int:
    """Run one command, given the arguments after the program's name.

    Returns:
        The exit code: 0, 1 (some episodes invalid, some check failed), 2 (bad input), 130 (interrupted), 143 (SIGTERM).
    """
    # The commands print a suite's warnings themselves; without this the logger would print them again.
    logger = logging.getLogger("simia_gym")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    try:
        # Not the command's `main`: it would print texts of its own at an interrupt.
        command = typer.main.get_command(app)
        with command.make_context("simia", list(arguments)) as context:
            code = command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except SimiaError as error:
        complain(str(error))
        return EXIT_INPUT
    except (KeyboardInterrupt, typer.Abort):
        tell("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - the reader closed the pipe; exit silently
        return EXIT_INVALID
    except OSError as error:
        if error.errno in _FULL:
            complain(f"the disk is full ({error.strerror}). Make room, and give the command again.")
            return EXIT_INPUT
        if error.filename is None:
            raise
        complain(f"{error.filename}: cannot be read or written ({error.strerror}). Check the path and its permissions.")
        return EXIT_INPUT
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        usage = error.format_message()  # an error of the option parser
        if usage:
            named = f"{arguments[0]} " if arguments and arguments[0] in commands() else ""
            complain(f"{usage} (see `simia {named}--help`)")
        return EXIT_INPUT
    return code if isinstance(code, int) else 0


def _version(asked: bool) -> None:
    if asked:
        from simia_gym.version import __version__

        typer.echo(f"simia-gym {__version__}")
        raise typer.Exit


@app.callback()
def simia(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Environments for tool-using agents, with rewards that can be traced to evidence."""
