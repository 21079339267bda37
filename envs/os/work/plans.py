"""How each way is done: a plan looks, then acts; it makes scripts, and is sent what they print."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from shlex import quote
from typing import TypeAlias

Slots: TypeAlias = Mapping[str, str]
Plan: TypeAlias = Generator[str, str, str | None]
"""Makes scripts, is sent their output, and returns the answer, if the task wants one."""


def _asked(*scripts: str) -> Callable[[Slots], Plan]:
    """Scripts of which the last one prints the answer."""

    def plan(s: Slots) -> Plan:
        shown = ""
        for script in scripts:
            shown = yield _filled(script, s)
        return shown.strip()

    return plan


def _done(*scripts: str) -> Callable[[Slots], Plan]:
    """Scripts that do it."""

    def plan(s: Slots) -> Plan:
        for script in scripts:
            yield _filled(script, s)
        return None

    return plan


def _filled(script: str, s: Slots) -> str:
    """A script with the values of a task as words of bash; ``@`` before a name puts it in as it stands."""
    return re.sub(r"(@?)\{([a-z]+)\}", lambda found: s[found[2]] if found[1] else quote(s[found[2]]), script)


def _in_archive(s: Slots) -> Plan:
    listed = yield _filled("tar -tzf {archive}", s)
    look = 'tar -xzOf {archive} "$m" | grep -qF -e {text} && echo "$m"'
    names = [name for name in listed.splitlines() if not name.endswith("/")]
    each = f"for m in {' '.join(map(quote, names))}; do {look}; done"
    return (yield _filled(each, s)).strip()


def _set_key(s: Slots) -> Plan:
    lines = (yield _filled("cat {file}", s)).splitlines()
    begin = lines.index(f"[{s['section']}]")
    at = next(n for n, line in enumerate(lines) if n > begin and line.startswith(f"{s['key']} = "))
    yield f"sed -i '{at + 1}s/= .*/= {s['value']}/' {quote(s['file'])}"
    return None


def _write_script(s: Slots) -> Plan:
    yield f"ls -l {quote(s['target'].rpartition('/')[0])}"
    yield f"cat > {quote(s['target'])} <<'END'\n#!/bin/sh\n{s['command']}\nEND\nchmod 755 {quote(s['target'])}"
    return None


def _same_letters(word: str, words: list[str]) -> str:
    """The word of some that has the same letters."""
    return next(one for one in words if sorted(one) == sorted(word))


def _repair(s: Slots) -> Plan:
    lines = (yield _filled("cat {script}", s)).splitlines()
    yield _filled("cat {check}; bash {check}; bash {script}", s)
    edit = yield from _edit(lines)
    yield f"sed -i '{edit}' {quote(s['script'])}"
    yield _filled("bash {check}", s)
    return None


def _edit(lines: list[str]) -> Generator[str, str, str]:
    """The command of sed that repairs a script."""
    text = "\n".join(lines)
    if not any(line.startswith("done") for line in lines):
        return f"{len(lines)}i done"
    wanted, added = re.search(r"sum of the column (\w+)", text), re.search(r"total \+ (\w+)", text)
    if wanted and added and wanted[1] != added[1]:
        return f"s/total + {added[1]}/total + {wanted[1]}/"
    known = re.findall(r"^\s*(\w+)=", text, re.MULTILINE) + re.findall(r"^for (\w+) in", text, re.MULTILINE)
    for name in re.findall(r'"\$(\w+)"', text):
        if name not in known:
            return f's/"${name}"/"${_same_letters(name, known)}"/'
    path = str(re.findall(r"^(?:table|notes)=(.+)", text, re.MULTILINE)[0])
    above, _, name = path.rpartition("/")
    listed = yield f"ls {quote(above)}"
    return f"s|{path}|{above}/{_same_letters(name, listed.split())}|"


PLANS: Mapping[str, Callable[[Slots], Plan]] = {
    "find_text": _asked("ls -A {folder}", "grep -rlF -e {text} {folder}"),
    "find_largest": _asked(
        "ls -A {folder}", "find {folder} -type f -printf '%s %p\\n' | sort -n | sed -n '$s/^[0-9]* //p'"
    ),
    "find_newest": _asked(
        "ls -A {folder}", "find {folder} -type f -printf '%T@ %p\\n' | sort -n | sed -n '$s/^[0-9.]* //p'"
    ),
    "count_level": _asked("head -n 5 {file}", "awk '$3 == \"@{level}\"' {file} | wc -l"),
    "count_files": _asked("ls -A {folder}", "find {folder} -type f -name '*@{end}' | wc -l"),
    "count_users": _asked("head -n 5 {file}", "awk '{print $NF}' {file} | sort -u | wc -l"),
    "close_files": _done("ls -lA {folder}", "find {folder} -type f -name '*@{end}' -exec chmod {mode} {} +"),
    "open_scripts": _done(
        "ls -lA {folder}",
        'find {folder} -type f | while IFS= read -r f; do\n  [ "$(head -c 2 "$f")" = \'#!\' ] && chmod 755 "$f"\ndone',
    ),
    "others_write": _done("ls -lA {folder}", "find {folder} -mindepth 1 ! -type l -perm -o=w -exec chmod o-w {} +"),
    "unpack": _done("tar -tzf {archive}", "mkdir {target} && tar -xzf {archive} -C {target}"),
    "take_member": _done("tar -tzf {archive}", "tar -xzOf {archive} {member} > {target}"),
    "in_archive": _in_archive,
    "expand": _done("ls -l {file}", "gunzip {file}"),
    "replace_word": _done("cat {file}", "sed -i 's/\\b@{old}\\b/@{new}/g' {file}"),
    "sort_lines": _done("cat {file}", "sort -u {file} > {target}"),
    "sum_column": _asked(
        "head -n 3 {file}",
        "awk -F, 'NR == 1 {while ($++c != \"@{column}\"); next} {s += $c} END {print s}' {file}",
    ),
    "strip_comments": _done("cat {file}", "sed -i -e '/^#/d' -e '/^$/d' {file}"),
    "var_value": _asked("cat {file}", '. {file}; echo "$@{name}"'),
    "add_export": _done("cat {file}", "echo export @{name}=@{value} >> {file}"),
    "write_value": _done("cat {file}", '. {file}; echo "$@{name}" > {target}'),
    "run_script": _asked("cat {script}", "bash {script} {number}"),
    "run_each": _done("cat {script}; ls {folder}", 'for f in {folder}/*; do bash {script} "$f"; done > {target}'),
    "write_script": _write_script,
    "repair_name": _repair,
    "remove_ending": _done("ls -lA {folder}", "find {folder} -type f -name '*@{end}' -delete"),
    "remove_links": _done("find {folder} -type l", "find {folder} -xtype l -delete"),
    "remove_copies": _done("ls {folder}", "cd {folder} && md5sum * | awk 'seen[$1]++ {print $2}' | xargs rm"),
    "remove_empty": _done("find {folder} -type d -empty", "find {folder} -mindepth 1 -type d -empty -delete"),
    "set_key": _set_key,
    "uncomment": _done("cat {file}", "sed -i 's/^#\\(@{key} = \\)/\\1/' {file}"),
    "last_wins": _asked("ls {folder}", "cat {folder}/*.conf | sed -n 's/^@{key} *= *//p' | tail -n 1"),
}
