"""What a shell keeps from command to command."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from simia_gym.sandbox import Sandbox, Shell, new_shell

from .conftest import needs_sandbox

pytestmark = needs_sandbox


def play(sandbox: Sandbox, scripts: Sequence[str], shell: Shell | None = None) -> tuple[bytes, Shell]:
    """Run scripts one after the other; the output of the last, and the shell."""
    shell, output = shell or new_shell(), b""
    for script in scripts:
        done = sandbox.run(script, shell)
        shell, output = done.shell, done.output
    return output, shell


@pytest.mark.parametrize(
    ("first", "second", "seen"),
    [
        ("cd /tmp", "pwd; cd -", "/tmp\n/root\n"),
        ("x=1; export y=2", 'echo $x $y; sh -c "echo $x-\\$x \\$y"', "1 2\n1- 2\n"),
        (
            "x=$'a\nb \"q\" \\\\ $HOME `id` \\'s\\x01'",
            'printf %s "$x" | od -An -c | tr -d " \n"',
            'a\\nb"q"\\$HOME`id`\'s001',
        ),
        (
            "a=(1 'b c' $'d\ne'); declare -A m=([k]=v ['a b']='c\"d')",
            'echo "${a[1]} ${#a[@]} ${m[k]} ${m[a b]}"',
            'b c 3 v c"d\n',
        ),
        (
            "declare -i n=3; declare -r ro=4; declare -u up=abc",
            "n=n+1; ro=5; echo $n $up",
            "bash: line 1: ro: readonly variable\n",
        ),
        ("x=1; unset HOME", "echo ${HOME-gone} $x", "gone 1\n"),
        ("IFS=:", "x=a:b; echo $x", "a b\n"),
        ("f() { echo f $1; }; export -f f", "f 1; bash -c 'f 2'", "f 1\nf 2\n"),
        ("shopt -s extglob\nf() { case $1 in @(a|b)) echo yes;; esac; }", "f a", "yes\n"),
        ("shopt -s expand_aliases; alias ls='echo my'\nf() { ls; }", "ls it; f; unalias ls", "my it\nmy\n"),
        ("set -u; set -o pipefail", "false | true; echo $?; echo $none", "1\nbash: line 1: none: unbound variable\n"),
        ("shopt -s nullglob dotglob; shopt -u sourcepath", "echo /tmp/*; shopt sourcepath", "\nsourcepath     \toff\n"),
        ("set +B", "echo {a,b}", "{a,b}\n"),
        ("umask 077", "umask; touch /tmp/a; stat -c %a /tmp/a", "0077\n600\n"),
        ("set -e; x=1; false; x=2", "echo $x $-", "1 ehBc\n"),
        ("set -x; x=1", "echo $x", "+ echo 1\n1\n"),
        ("set -o posix", "set -o | grep posix", "posix          \ton\n"),
        ("cd /tmp; exit 3", "pwd", "/tmp\n"),
        ("mkdir /tmp/d; cd /tmp/d; rmdir /tmp/d", "pwd", "/\n"),
        ("set -- a b; true", "echo $# $0", "0 bash\n"),
        ("x=1; exec true", "echo ${x-none}", "none\n"),
        ("x=1; kill -9 $$", "echo ${x-none}", "none\n"),
        ("x=1; trap 'echo bye' EXIT", "echo ${x-none}", "none\n"),
        ("(x=1; cd /tmp); x=2 | cat", "echo ${x-none} $PWD", "none /root\n"),
    ],
)
def test_it_is_kept(first: str, second: str, seen: str, sandbox: Sandbox) -> None:
    assert play(sandbox, [first, second])[0].decode() == seen
    assert play(sandbox, [first, ":", ":", second])[0].decode() == seen


@pytest.mark.parametrize(
    "breaking",
    [
        "exec 200>&-",
        "exec 200>/dev/null",
        "printf garbage > /proc/self/fd/200; exec true",
        "printf '/tmp\\0\\0\\0\\0\\0' > /proc/self/fd/200; exec true",
        "printf '/tmp\\0x=$(touch /tmp/x)\\n\\0\\0\\0\\0' > /proc/self/fd/200; exec true",
        "head -c 3000000 /dev/zero > /proc/self/fd/200; exec true",
        "chmod 000 /proc/self/fd/200",
        "set -n",
        "builtin() { echo /tmp; }; trap() { :; }; declare() { :; }; printf() { :; }; set() { :; }",
        "alias builtin=false declare=false trap=false; shopt -s expand_aliases",
        "trap 'sleep 0.1; exit 9' EXIT",
        "ulimit -f 0",
        "PATH=; unset BASH_ENV; BASH_ENV=/tmp/x; export BASH_ENV",
        "enable -n declare printf alias",
        "ulimit -n 5",
    ],
)
def test_whoever_breaks_the_bookkeeping_loses_what_it_would_keep_and_no_more(breaking: str, sandbox: Sandbox) -> None:
    _, before = play(sandbox, ["x=1; cd /srv"])
    done = sandbox.run(breaking, before)
    assert done.stopped == ""
    assert sandbox.run("echo $x; pwd", done.shell).output == b"1\n/srv\n"
    assert sandbox.run("echo ${x-none}; pwd; declare -F; alias", new_shell()).output == b"none\n/root\n"


def test_read_only_variables_of_a_name_that_matters(sandbox: Sandbox) -> None:
    _, shell = play(sandbox, ["readonly PATH=/nowhere HOME IFS=x; cd /tmp"])
    assert sandbox.run("pwd; ls; PATH=/bin", shell).output == (
        b"/tmp\nbash: line 1: ls: command not found\nbash: line 1: PATH: readonly variable\n"
    )


def test_random_begins_where_it_is_told(sandbox: Sandbox) -> None:
    seen = [sandbox.run("echo $RANDOM $RANDOM $$", new_shell(), seed=seed).output for seed in (1, 1, 2)]
    assert seen[0] == seen[1] != seen[2]


def test_a_new_shell_exports_what_is_given(sandbox: Sandbox) -> None:
    shell = new_shell(home="/srv", EDITOR="a 'b' $c")
    assert sandbox.run('echo "$EDITOR $HOME $PWD"; env | wc -l', shell).output == b"a 'b' $c /srv /srv\n9\n"


def test_the_row_of_a_shell_is_short(sandbox: Sandbox) -> None:
    _, shell = play(sandbox, ["cd /tmp"])
    assert len(repr(shell)) < 1000
    assert shell.variables.count("\n") == 8
