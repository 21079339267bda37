"""What a shell keeps from command to command, as text that the shell itself writes and reads."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass

# Variables of bash itself, which a new shell has anyway or may not set.
_SPECIAL = re.compile(
    "BASH|BASH_.*|BASHOPTS|BASHPID|COLUMNS|COMP_.*|DIRSTACK|EPOCH.*|EUID|FUNCNAME|GROUPS|HISTCMD|HOSTNAME|HOSTTYPE|LINENO"
    "|LINES|MACHTYPE|OPTERR|OPTIND|OSTYPE|PIPESTATUS|POSIXLY_CORRECT|PPID|PS4|RANDOM|SECONDS|SHELL|SHELLOPTS|SHLVL|SRANDOM"
    "|UID|_"
)
_DECLARATION = re.compile(
    r"""declare\ -\S+\ (?P<name>\w+)(?:=(?:"(?:\\.|[^"\\])*"|\$'(?:\\.|[^'\\])*'|'[^']*'|\\.|[^"'\\\n])*)?\n""",
    re.VERBOSE | re.DOTALL,
)
_OPTIONS = re.compile(r"\n?umask (?P<umask>[0-7]{4})\n(?P<set>[a-z:-]*)\n(?P<shopt>[a-z0-9_:]*)\n")
_USUAL = "set +o braceexpand +o hashall +o interactive-comments\nshopt -u ${BASHOPTS//:/ }"
_KEEP = r"""
\trap '{ {
\builtin printf "%s\0" "$PWD"
\builtin declare -p
\builtin printf "\0"
\builtin declare -f
\builtin declare -Fx
\builtin printf "\0"
\builtin alias -p
\builtin printf "\0"
\builtin umask -p
\builtin printf "%s\n%s\n\0" "$SHELLOPTS" "$BASHOPTS"
} >/proc/self/fd/200; } 2>/dev/null' EXIT
"""


@dataclass(frozen=True, slots=True)
class Shell:
    """What a shell keeps. The texts are commands of bash that make it again, as bash writes them.

    Attributes:
        cwd: The working directory.
        variables: Variables, exported or not.
        functions: Functions.
        aliases: Aliases; a script's shell expands them once ``shopt -s expand_aliases`` is kept, too.
        options: Options of ``set`` and ``shopt``, and the mask for modes of new files; nothing for the usual ones.
    """

    cwd: str = "/"
    variables: str = ""
    functions: str = ""
    aliases: str = ""
    options: str = ""


def new_shell(home: str = "/root", **variables: str) -> Shell:
    """A shell that has kept nothing yet: it stands in its home, and exports five variables and those that are given."""
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    exported = {"HOME": home, "LANG": "C.UTF-8", "PATH": path, "TERM": "dumb", "USER": "root", **variables}
    text = "".join(f"declare -x {name}={shlex.quote(value)}\n" for name, value in exported.items())
    return Shell(cwd=home, variables=text)


def prologue(shell: Shell, seed: int) -> bytes:
    """What a shell reads before a script: it makes again what was kept, and keeps what is new at the end."""
    options = [line for line in shell.options.splitlines() if line.startswith("set ")]
    before = [line for line in shell.options.splitlines() if not line.startswith("set ")]
    text = "\n".join(
        [
            "unset BASH_ENV",
            "exec 2>/dev/null",
            *([_USUAL] if shell.options else []),
            f"cd -- {shlex.quote(shell.cwd)} || cd /",
            "unset OLDPWD",
            shell.variables,
            *before,
            shell.functions,
            shell.aliases,
            "exec 2>&1",
            f"RANDOM={seed}{_KEEP}",
            *options,
            "",
        ]
    )
    return os.fsencode(text)


def kept(book: bytes, before: Shell) -> Shell:
    """What a shell wrote when it ended; what was there before if it could not, or if something else was written."""
    parts = os.fsdecode(book).split("\0")
    if len(parts) != 6 or parts[-1] or not parts[0].startswith("/"):
        return before
    cwd, declared, functions, aliases, opted, _ = parts
    options = _OPTIONS.fullmatch(opted)
    declarations = list(_DECLARATION.finditer(declared))
    if options is None or sum(len(found[0]) for found in declarations) != len(declared):
        return before
    variables = "".join(found[0] for found in declarations if not _SPECIAL.fullmatch(found["name"]))
    words = [f"umask {options['umask']}", f"shopt -s {options['shopt'].replace(':', ' ')}"]
    words += [f"set -o {option}" for option in options["set"].split(":") if option]
    return Shell(cwd, variables, functions, aliases, "".join(f"{line}\n" for line in words))
