"""Makes the tasks that want a change: what stands there, the values of the sentence, and what stands there at the end.

A maker computes the end from what it has drawn; it runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from simia_gym.envs.os.work.drawing import ENDS, NOTES, Drawn, as_lines, squeezed
from simia_gym.envs.os.work.looking import (
    COLUMNS,
    NAMES,
    SETTINGS,
    USERS,
    archive,
    noted,
    quoted,
    table,
    variables,
)

_MODES = (0o640, 0o644, 0o660, 0o664, 0o755)


def _some(d: Drawn, paths: list[str]) -> set[str]:
    """At least two of some paths, and not all."""
    return set(d.rng.sample(paths, d.rng.randint(2, len(paths) - 2)))


def _close_files(d: Drawn) -> None:
    work, end = d.work(), d.rng.choice((".key", ".pem", ".cfg", ".secret"))
    mode = d.rng.choice((0o400, 0o600, 0o440))
    paths = d.places(work, 10, (".txt", f"{end}.txt", f"{end}s", end.lstrip(".")))
    for path in (chosen := sorted(_some(d, paths))):
        d.file(f"{path}{end}", d.notes(1), d.rng.choice(_MODES))
        d.want_mode(f"{path}{end}", mode)
    for path in paths:
        if path not in chosen:
            d.file(path, d.notes(1), d.rng.choice(_MODES))
    d.folder(f"{work}/{d.stem()}{end}")
    d.values |= {"folder": work, "end": end, "mode": f"{mode:o}"}
    d.gold = [f"chmod {mode:o} {quoted(*(f'{path}{end}' for path in chosen))}"]


def _open_scripts(d: Drawn) -> None:
    work = d.work()
    paths = sorted(d.places(work, 11, (".sh", ".txt", "", ".py")))
    scripts = _some(d, paths)
    first = ("#!/bin/sh", "#!/bin/bash", "#!/usr/bin/python3")
    other = ("# !/bin/sh", "echo ready", " #!/bin/sh", "print(1)")
    for path in paths:
        begin = d.rng.choice(first if path in scripts else other)
        d.file(path, as_lines([begin, d.rng.choice(("true", "#!/bin/sh", "exit 0"))]), d.rng.choice(_MODES[:4]))
    for path in scripts:
        d.want_mode(path, 0o755)
    d.values["folder"] = work
    d.gold = [f"chmod 755 {quoted(*sorted(scripts))}"]


def _others_write(d: Drawn) -> None:
    work = d.work()
    paths = sorted(d.places(work, 10))
    for path in paths:
        d.file(path, d.notes(1), d.rng.choice((0o644, 0o755, 0o775, 0o664)))
    d.folder(f"{work}/{d.stem()}", 0o777)
    d.folder(f"{work}/{d.stem()}", 0o757)
    d.link(f"{work}/{d.stem()}", "elsewhere")
    for path in sorted(_some(d, paths)):
        d.file(path, d.tree[path].data, d.tree[path].mode | 0o002)
    opened = [path for path in sorted(d.tree) if path.startswith(f"{work}/") and d.tree[path].mode & 2]
    opened = [path for path in opened if d.tree[path].kind != "link"]
    for path in opened:
        d.want_mode(path, d.tree[path].mode & ~0o002)
    d.values["folder"] = work
    d.gold = [f"chmod o-w {quoted(*opened)}"]


def _unpack(d: Drawn) -> None:
    members = archive(d, modes=(0o644, 0o755))[1]
    target = d.values["target"] = f"{d.top}/{d.stem()}"
    d.want_folder(target)
    for name, entry in members.items():
        d.goal[f"{target}/{name}"] = entry
    d.gold = [f"mkdir {target} && tar -xzf {d.values['archive']} -C {target}"]


def _take_member(d: Drawn) -> None:
    member, members = archive(d)
    target = f"{d.top}/{d.stem()}.txt"
    d.want(target, members[member].data)
    d.values |= {"member": member, "target": target}
    d.gold = [f"tar -xzOf {d.values['archive']} {member} > {target}"]


def _expand(d: Drawn) -> None:
    plain, text = f"{d.work()}/{d.stem()}.log", d.notes(d.rng.randint(3, 8))
    d.file(f"{plain}.gz", squeezed(text.encode()))
    d.file(f"{d.top}/{d.stem()}.gz", squeezed(d.notes(1).encode()))
    d.want(plain, text)
    d.want_gone(f"{plain}.gz")
    d.values["file"] = f"{plain}.gz"
    d.gold = [f"zcat {plain}.gz > {plain} && rm {plain}.gz"]


def _replace_word(d: Drawn) -> None:
    old, new = d.rng.sample(("cat", "key", "car", "lamp", "map", "pen", "ring", "cup"), 2)
    longer = {"cat": "catalog", "key": "monkey", "car": "scarf", "lamp": "lampshade"}
    lines = [
        f"The {old} is not a {longer.get(old, f'{old}s')}.",
        f"Who has the {old}, and who wants two {old}s?",
        f"This {old}: my {old}.",
        *d.rng.choices(NOTES, k=4),
    ]
    d.rng.shuffle(lines)
    d.values |= {"file": (path := f"{d.work()}/{d.stem()}.txt"), "old": old, "new": new}
    d.file(path, text := as_lines(lines))
    d.want(path, re.sub(rf"\b{old}\b", new, text))
    d.gold = [rf"sed -i 's/\b{old}\b/{new}/g' {path}"]


def _sort_lines(d: Drawn) -> None:
    path, target = f"{d.work()}/{d.stem()}.txt", f"{d.top}/{d.stem()}.txt"
    users = d.rng.sample(USERS, d.rng.randint(6, 16))
    d.file(path, as_lines(d.rng.sample(twice := [*users, *users[:4]], len(twice))))
    d.want(target, as_lines(sorted(users)))
    d.values |= {"file": path, "target": target}
    d.gold = [f"sort {path} | uniq > {target}"]


def _strip_comments(d: Drawn) -> None:
    keep = [f"{one} = {d.rng.randint(1, 99)}" for one in d.rng.sample(SETTINGS, 6)]
    keep += [f"colour = #{d.rng.randint(100, 999)}", "  # an indented remark"]
    lines = [*keep, *(f"# {one}" for one in d.rng.sample(NOTES, 3)), "", "", "#"]
    d.rng.shuffle(lines)
    d.values["file"] = path = f"{d.work()}/{d.stem()}.cfg"
    d.file(path, as_lines(lines))
    d.want(path, as_lines(line for line in lines if line and not line.startswith("#")))
    d.gold = [f"grep -v -e '^#' -e '^$' {path} > /tmp/kept; cat /tmp/kept > {path}"]


def _add_export(d: Drawn) -> None:
    variables(d)
    path = d.values["file"]
    text = d.tree[path].data.decode()
    name = d.rng.choice([one for one in NAMES if f"{one}=" not in text])
    value = d.rng.choice((f"{d.top}/{d.stem()}", str(d.rng.randint(100, 999)), d.code()))
    d.values |= {"name": name, "value": value}
    d.want(path, f"{text}export {name}={value}\n")
    d.gold = [f"echo export {name}={value} >> {path}"]


def _write_value(d: Drawn) -> None:
    value = variables(d)
    target = d.values["target"] = f"{d.top}/{d.stem()}.txt"
    d.want(target, f"{value}\n")
    d.gold = [f"{d.gold[0]} > {target}"]


def _run_each(d: Drawn) -> None:
    ways: Mapping[str, Callable[[list[str]], str]] = {
        'wc -l < "$1"': lambda lines: str(len(lines)),
        'head -n 1 "$1"': lambda lines: lines[0],
        'tail -n 1 "$1" | tr a-z A-Z': lambda lines: lines[-1].upper(),
        'wc -w < "$1"': lambda lines: str(len(" ".join(lines).split())),
    }
    work = d.work()
    script, target, command = f"{d.top}/{d.stem()}.sh", f"{d.top}/{d.stem()}.out", d.rng.choice(list(ways))
    d.file(script, as_lines(["#!/bin/bash", 'echo "file:"' if (headed := d.rng.random() < 0.5) else ":", command]))
    printed: list[str] = []
    for path in (paths := noted(d, work, d.rng.randint(4, 8))):
        printed += [*(["file:"] if headed else []), ways[command](d.tree[path].data.decode().splitlines())]
    d.want(target, as_lines(printed))
    d.values |= {"script": script, "folder": work, "target": target}
    d.gold = ["\n".join(f"bash {script} {path} >> {target}" for path in paths)]


def _write_script(d: Drawn) -> None:
    work, target = d.work(), f"{d.top}/{d.stem()}.sh"
    command = d.rng.choice(
        (
            f"du -s {work}",
            f"ls -t {work} | head -n {d.rng.randint(2, 9)}",
            f"grep -c {d.stem()} {work}/{d.stem()}.txt",
            f"find {work} -name '*{d.rng.choice(ENDS)}' -mtime +{d.rng.randint(2, 40)}",
            f'echo "$(ls {work} | wc -l) files"',
        )
    )
    noted(d, work, 3)
    d.values |= {"target": target, "command": command}
    d.want(target, f"#!/bin/sh\n{command}\n", 0o755)
    d.gold = [f"cat > {target} <<'EOF'\n#!/bin/sh\n{command}\nEOF\nchmod 755 {target}"]


def _repair(d: Drawn, right: str, wrong: str, prints: int) -> None:
    """Put a script with a fault, and a check of what it prints."""
    script, check = f"{d.top}/{d.stem()}.sh", f"{d.top}/check.sh"
    mode = d.rng.choice((0o644, 0o755))
    tested = f'if [ "$(bash {script} 2>/dev/null)" = {prints} ]'
    lines = ["#!/bin/bash", "# Says whether the script is right.", tested, "then echo passed"]
    d.file(script, wrong, mode)
    d.file(check, as_lines([*lines, "else echo failed; exit 1", "fi"]), 0o755)
    d.want(script, right, mode)
    d.values |= {"script": script, "check": check}
    d.gold = [f"cat > {script} <<'EOF'\n{right}EOF\nbash {check}"]


def _summing(d: Drawn) -> tuple[str, int, str, str, str]:
    """A script that adds up a column: its text, what it prints, its column, another one, its table."""
    path, columns = f"{d.work()}/{d.stem()}.csv", d.rng.sample(COLUMNS, 3)
    while len(set((sums := table(d, path, columns)).values())) < 3:
        pass
    column, other = d.rng.sample(columns, 2)
    text = as_lines(
        [
            "#!/bin/bash",
            f"# Prints the sum of the column {column} of the table.",
            f"table={path}",
            "total=0",
            f"while IFS=, read -r name {' '.join(columns)}",
            "do",
            f"  total=$((total + {column}))",
            'done < <(tail -n +2 "$table")',
            'echo "$total"',
        ]
    )
    return text, sums[column], column, other, path


def _counting(d: Drawn) -> tuple[str, int, str]:
    """A script that counts lines: its text, what it prints, its folder."""
    work = d.work()
    paths = noted(d, work, d.rng.randint(3, 6))
    text = as_lines(
        [
            "#!/bin/bash",
            "# Prints the number of lines of all notes.",
            f"notes={work}",
            "total=0",
            'for note in "$notes"/*.txt',
            "do",
            '  lines=$(wc -l < "$note")',
            "  total=$((total + lines))",
            "done",
            'echo "$total"',
        ]
    )
    return text, sum(d.tree[path].data.count(b"\n") for path in paths), work


def _slip(d: Drawn, word: str) -> str:
    """A word with two neighbouring letters swapped."""
    places = [at for at in range(len(word) - 1) if word[at] != word[at + 1]]
    at = d.rng.choice(places)
    return f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"


def _repair_name(d: Drawn) -> None:
    right, prints, *_ = _summing(d) if d.rng.random() < 0.5 else _counting(d)
    used = [one for one in ('"$table"', '"$notes"', '"$note"', '"$total"') if one in right]
    name = d.rng.choice(used)
    _repair(d, right, right.replace(name, f'"${_slip(d, name[2:-1])}"'), prints)


def _repair_path(d: Drawn) -> None:
    right, prints, *_, path = _summing(d) if d.rng.random() < 0.5 else _counting(d)
    above, _, name = path.rpartition("/")
    bare, dot, end = name.partition(".")
    _repair(d, right, right.replace(path, f"{above}/{_slip(d, bare)}{dot}{end}"), prints)


def _repair_end(d: Drawn) -> None:
    right, prints, _ = _counting(d)
    _repair(d, right, right.replace("done\n", ""), prints)


def _repair_column(d: Drawn) -> None:
    right, prints, column, other, _ = _summing(d)
    _repair(d, right, right.replace(f"total + {column}", f"total + {other}"), prints)


def _remove_ending(d: Drawn) -> None:
    work, end = d.work(), d.rng.choice((".tmp", ".bak", ".swp", ".old"))
    paths = sorted(d.places(work, 12, ("",)))
    for path in paths[:2]:
        d.folder(f"{path}{end}")
        d.file(f"{path}{end}/{d.stem()}{d.rng.choice(ENDS)}", d.notes(1))
    chosen = _some(d, paths[2:])
    for path in paths[2:]:
        wrong = d.rng.choice((f"{end}.txt", end.lstrip("."), f"{end}x", ".txt"))
        d.file(path + (end if path in chosen else wrong), d.notes(1))
    d.link(f"{work}/{d.stem()}{end}", "elsewhere")
    d.want_gone(*(f"{path}{end}" for path in chosen))
    d.values |= {"folder": work, "end": end}
    d.gold = [f"rm {quoted(*(f'{path}{end}' for path in sorted(chosen)))}"]


def _remove_links(d: Drawn) -> None:
    work = d.work()
    files = d.places(work, 5)
    for path in files:
        d.file(path, d.notes(1))
    folders = sorted({path.rpartition("/")[0] for path in files})
    broken = []
    for number in range(d.rng.randint(6, 9)):
        path = f"{d.rng.choice(folders)}/{d.stem()}"
        whole = d.rng.choice((*files, *folders))
        if number < 2 or d.rng.random() < 0.4:
            broken.append(path)
            whole = d.rng.choice((f"{work}/{d.stem()}", f"{d.top}/{d.stem()}", f"{whole}.gone", d.stem()))
        d.link(path, whole)
    d.want_gone(*broken)
    d.values["folder"] = work
    d.gold = [f"rm {quoted(*sorted(broken))}"]


def _remove_copies(d: Drawn) -> None:
    work = d.work()
    names = sorted(d.stem() for _ in range(d.rng.randint(7, 10)))
    texts = [d.notes(2, f"Reference: {d.code()}.") for _ in range(4)]
    drawn = [*texts, texts[0], *d.rng.choices(texts, k=len(names) - 5)]
    d.rng.shuffle(drawn)
    gone = [f"{work}/{name}.txt" for at, name in enumerate(names) if drawn[at] in drawn[:at]]
    for name, text in zip(names, drawn, strict=True):
        d.file(f"{work}/{name}.txt", text)
    d.file(f"{d.top}/{d.stem()}.txt", texts[0])
    d.want_gone(*gone)
    d.values["folder"] = work
    d.gold = [f"rm {quoted(*gone)}"]


def _remove_empty(d: Drawn) -> None:
    work = d.work()
    for path in d.places(work, 5):
        d.file(path, d.rng.choice(("", d.notes(1))))
    for _ in range(d.rng.randint(3, 5)):
        path = f"{d.rng.choice([work, *d.of_kind('dir', work)])}/{d.stem()}"
        d.folder(path)
        if d.rng.random() < 0.5:
            d.folder(f"{path}/{d.stem()}")
    full = [path for path, entry in d.tree.items() if entry.kind != "dir"]
    empty = [one for one in d.of_kind("dir", work) if not any(path.startswith(f"{one}/") for path in full)]
    d.want_gone(*empty)
    d.values["folder"] = work
    d.gold = [f"rmdir {quoted(*reversed(empty))}"]


def _set_key(d: Drawn) -> None:
    sections, keys = d.rng.sample(("client", "journal", "mail", "server", "store"), 3), d.rng.sample(SETTINGS, 4)
    section, key = d.rng.choice(sections), keys[0]
    old, new = d.rng.sample(range(100, 999), 2)
    lines: list[str] = []
    for one in sections:
        held = [f"{other} = {d.rng.randint(10, 99)}" for other in keys[1:3]]
        held += [f"{key} = {old if one == section or d.rng.random() < 0.5 else d.rng.randint(1000, 1999)}"]
        held += [f"# {key} = {old}", f"{key}_{keys[3]} = {old}"]
        lines += ["", f"[{one}]", *d.rng.sample(held, len(held))]
    path, at = f"{d.work()}/{d.stem()}.ini", lines.index(f"[{section}]")
    d.file(path, as_lines(lines[1:]))
    lines[lines.index(f"{key} = {old}", at)] = f"{key} = {new}"
    d.want(path, as_lines(lines[1:]))
    d.values |= {"file": path, "section": section, "key": key, "value": str(new)}
    d.gold = [rf"sed -i '/^\[{section}\]$/,/^$/ s/^{key} = .*/{key} = {new}/' {path}"]


def _uncomment(d: Drawn) -> None:
    key, *others = d.rng.sample(SETTINGS, 5)
    lines = [f"{d.rng.choice(('', '#'))}{one} = {d.rng.randint(10, 999)}" for one in others]
    line = f"{key} = {d.rng.randint(10, 999)}"
    lines += [f"#{line}", f"#{key}_{others[0]} = 7", f"#max_{key} = 9", f"# The {key} is rarely needed."]
    d.rng.shuffle(lines)
    d.values |= {"file": (path := f"{d.work()}/{d.stem()}.conf"), "key": key}
    d.file(path, text := as_lines(lines))
    d.want(path, text.replace(f"#{line}\n", f"{line}\n"))
    d.gold = [f"sed -i 's/^#{line}$/{line}/' {path}"]


CHANGED: Mapping[str, Callable[[Drawn], None]] = {
    "close_files": _close_files,
    "open_scripts": _open_scripts,
    "others_write": _others_write,
    "unpack": _unpack,
    "take_member": _take_member,
    "expand": _expand,
    "replace_word": _replace_word,
    "sort_lines": _sort_lines,
    "strip_comments": _strip_comments,
    "add_export": _add_export,
    "write_value": _write_value,
    "run_each": _run_each,
    "write_script": _write_script,
    "repair_name": _repair_name,
    "repair_path": _repair_path,
    "repair_end": _repair_end,
    "repair_column": _repair_column,
    "remove_ending": _remove_ending,
    "remove_links": _remove_links,
    "remove_copies": _remove_copies,
    "remove_empty": _remove_empty,
    "set_key": _set_key,
    "uncomment": _uncomment,
}
