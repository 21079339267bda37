"""Makes the tasks that want an answer: what stands there, the values of the sentence, and the answer.

A maker computes the answer from what it has drawn; it runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from shlex import quote

from simia_gym.envs.os.work.drawing import NOTES, WORDS, Drawn, as_lines, packed, words
from simia_gym.sandbox import Entry, folder

USERS, SETTINGS, PLACES = words("users"), words("settings"), words("places")
LEVELS = ("DEBUG", "INFO", "WARN", "ERROR")
COLUMNS = ("hours", "costs", "units", "weight", "score", "travel")
NAMES = ("BASE", "CACHE", "DATA", "LEVEL", "LOGS", "MODE", "PREFIX", "REGION", "STAGE", "TARGET", "VERSION", "ZONE")


def _find_text(d: Drawn) -> str:
    work, text = d.work(), d.code()
    paths = d.places(work, d.rng.randint(10, 14))
    found = d.rng.choice(paths)
    for path in paths:
        near = text[:-1] + d.rng.choice([one for one in "0123456789" if one != text[-1]])
        d.file(path, d.notes(2, f"Reference: {text if path == found else d.rng.choice((near, d.code()))}."))
    d.file(f"{d.top}/{d.stem()}.txt", d.notes(1, f"Reference: {text}."))
    d.values |= {"folder": work, "text": text}
    d.gold = [f"grep -rl {text} {work}"]
    return found


def _find_largest(d: Drawn) -> str:
    work = d.work()
    paths = d.places(work, d.rng.randint(9, 13))
    counts = d.rng.sample(range(20, 700), len(paths))
    for path, count in zip(paths, counts, strict=True):
        d.file(path, "x" * (count - 1) + "\n")
    d.file(f"{d.top}/{d.stem()}.dat", "x" * 900)
    d.values["folder"] = work
    d.gold = [f"find {work} -type f -printf '%s\\t%p\\n' | sort -rn | head -n 1 | cut -f 2-"]
    return paths[counts.index(max(counts))]


def _find_newest(d: Drawn) -> str:
    work = d.work()
    for path in d.places(work, d.rng.randint(9, 13)):
        d.file(path, d.notes(1))
    d.values["folder"] = work
    d.gold = [f"find {work} -type f -printf '%T@\\t%p\\n' | sort -rn | head -n 1 | cut -f 2-"]
    return max(d.of_kind("file", work), key=lambda path: d.tree[path].time)


def _count_level(d: Drawn) -> str:
    level, others = (drawn := d.rng.sample(LEVELS, 4))[0], drawn[1:]
    levels = [level] * d.rng.randint(3, 40)
    levels += d.rng.choices(others, k=d.rng.randint(8, 20))
    d.rng.shuffle(levels)
    times = sorted(d.rng.sample(range(86_400), len(levels)))
    lines = [
        f"2024-03-11 {at // 3600:02d}:{at // 60 % 60:02d}:{at % 60:02d} {one} {d.rng.choice(WORDS['messages'])}"
        for at, one in zip(times, levels, strict=True)
    ]
    d.values |= {"file": (path := f"{d.work()}/{d.stem()}.log"), "level": level}
    d.file(path, as_lines(lines))
    d.gold = [f"cut -d ' ' -f 3 {path} | grep -cx {level}"]
    return str(levels.count(level))


def _count_files(d: Drawn) -> str:
    work, end = d.work(), (ends := d.rng.sample([".bak", ".cfg", ".csv", ".log", ".md", ".txt"], 3))[0]
    count = d.rng.randint(3, 34)
    paths = d.places(work, count + d.rng.randint(4, 8))
    for number, path in enumerate(paths):
        bare = path.rpartition(".")[0]
        wrong = d.rng.choice((*ends[1:], f"{end}.old", end.lstrip("."), f"{end}s"))
        d.file(bare + (end if number < count else wrong), d.notes(1))
    d.folder(f"{work}/{d.stem()}{end}")
    d.link(f"{work}/{d.stem()}{end}", "somewhere")
    d.values |= {"folder": work, "end": end}
    d.gold = [f"find {work} -type f -name '*{end}' -printf x | wc -c"]
    return str(count)


def _count_users(d: Drawn) -> str:
    users = d.rng.sample(USERS, d.rng.randint(4, 38))
    seen = [*users, *d.rng.choices(users, k=d.rng.randint(6, 14))]
    d.rng.shuffle(seen)
    places = d.rng.choices(USERS, k=len(seen))  # a host may be called like a user
    lines = [f"{one}-{d.rng.randint(1, 9)} login {user}" for one, user in zip(places, seen, strict=True)]
    d.values["file"] = path = f"{d.work()}/{d.stem()}.log"
    d.file(path, as_lines(lines))
    d.gold = [f"sed 's/.* //' {path} | sort | uniq | wc -l"]
    return str(len(users))


def archive(d: Drawn, *more: str, modes: Sequence[int] = (0o644,)) -> tuple[str, dict[str, Entry]]:
    """Put an archive of some files; the name of one inside that holds some more lines, and all that is in it."""
    inside, path = d.stem(), f"{d.work()}/{d.stem()}.tar.gz"
    sub = f"{inside}/{d.fresh(('deep', 'extra', 'more'))}"
    names = [f"{d.rng.choice((inside, sub))}/{d.stem()}.txt" for _ in range(d.rng.randint(4, 6))]
    holds = d.rng.choice(names)
    found = {inside: folder(), sub: folder()}
    for name in sorted(names):
        text = d.notes(2, *more) if name == holds else d.notes(2, f"Reference: {d.code()}.")
        found[name] = Entry("file", d.rng.choice(modes), text.encode())
    d.file(path, packed(found))
    d.values["archive"] = path
    return holds, found


def _in_archive(d: Drawn) -> str:
    text = d.values["text"] = d.code()
    holds, members = archive(d, f"Reference: {text}.")
    looks = [
        f"tar -xzOf {d.values['archive']} {name} | grep -q {text} && echo {name}"
        for name, entry in members.items()
        if entry.kind == "file"
    ]
    d.gold = ["\n".join([*looks, "true"])]
    return holds


def table(d: Drawn, path: str, columns: list[str]) -> dict[str, int]:
    """Put a comma-separated table of numbers; the sums of its columns."""
    rows = [[d.rng.randint(2, 99) for _ in columns] for _ in range(d.rng.randint(6, 16))]
    names = d.rng.sample(USERS, len(rows))
    lines = [",".join(("name", *columns))]
    lines += [",".join((name, *map(str, values))) for name, values in zip(names, rows, strict=True)]
    d.file(path, as_lines(lines))
    return {column: sum(values[place] for values in rows) for place, column in enumerate(columns)}


def _sum_column(d: Drawn) -> str:
    path, columns = f"{d.work()}/{d.stem()}.csv", d.rng.sample(COLUMNS, 3)
    sums, column = table(d, path, columns), d.rng.choice(columns)
    d.values |= {"file": path, "column": column}
    place = columns.index(column) + 2
    d.gold = [f"s=0; for n in $(tail -n +2 {path} | cut -d , -f {place}); do s=$((s + n)); done; echo $s"]
    return str(sums[column])


def variables(d: Drawn) -> str:
    """Put a file that sets variables, some from others; the value of the one that the task is about."""
    path, names = f"{d.work()}/{d.stem()}.sh", d.rng.sample(NAMES, 5)
    first, second, third, fourth, number = names
    count, more = d.rng.randint(2, 40), d.rng.randint(2, 40)
    values = {first: f"{d.top}/{d.fresh(PLACES)}", number: str(count)}
    lines = [f"{first}={values[first]}", f"{number}={count}"]

    def joined(name: str, text: str) -> None:
        """Set a variable to a text with names of others in it; what they have by now counts."""
        lines.append(f'{name}="{text}"')
        for other, value in values.items():
            text = text.replace(f"${{{other}}}", value)
        values[name] = text

    joined(second, f"${{{first}}}/{d.fresh(PLACES)}-${{{number}}}")
    lines.append(f"# {third}={d.top}/{d.fresh(PLACES)}")
    lines.append(f"{number}=$(({number} + {more}))")
    values[number] = str(count + more)
    joined(third, f"${{{second}}}/{d.fresh(PLACES)}.${{{number}}}")
    if d.rng.random() < 0.5:
        joined(first, f"/tmp/{d.fresh(PLACES)}")  # what was made of it keeps its value
    joined(fourth, f"{d.fresh(PLACES)}:${{{third}}}:${{{first}}}")
    d.file(path, as_lines(["# What the programs of the project need", *lines]))
    name = d.rng.choice((second, third, fourth))
    d.values |= {"file": path, "name": name}
    d.gold = [f'env -i bash -c \'. "$1"; echo "${name}"\' - {path}']
    return values[name]


def _squares(number: int) -> int:
    return sum(one * one for one in range(1, number + 1)) % 9973


def _steps(number: int) -> int:
    steps = 0
    while number != 1:
        number, steps = 3 * number + 1 if number % 2 else number // 2, steps + 1
    return steps


def _fibonacci(number: int) -> int:
    one, two = 0, 1
    for _ in range(number):
        one, two = two, (one + two) % 99991
    return one


_SCRIPTS: Mapping[str, Callable[[int], int]] = {
    "sum=0\nfor ((i = 1; i <= $1; i++)); do\n  sum=$(((sum + i * i) % 9973))\ndone\necho $sum": _squares,
    "n=$1 steps=0\nwhile ((n != 1)); do\n  if ((n % 2)); then n=$((3 * n + 1)); else n=$((n / 2)); fi\n"
    "  steps=$((steps + 1))\ndone\necho $steps": _steps,
    "a=0 b=1\nfor ((i = 0; i < $1; i++)); do\n  c=$(((a + b) % 99991)) a=$b b=$c\ndone\necho $a": _fibonacci,
}


def _run_script(d: Drawn) -> str:
    script, number = f"{d.work()}/{d.stem()}.sh", d.rng.randint(30, 400)
    code = d.rng.choice(list(_SCRIPTS))
    d.file(script, f"#!/bin/bash\n{code}\n", d.rng.choice((0o644, 0o755)))
    d.values |= {"script": script, "number": str(number)}
    d.gold = [f"bash {script} {number}"]
    return str(_SCRIPTS[code](number))


def _last_wins(d: Drawn) -> str:
    work = f"{d.work()}/conf.d"
    key, *others = d.rng.sample(SETTINGS, 4)
    values = d.rng.sample(range(1_000, 9_999), 6)
    numbers = sorted(d.rng.sample(range(10, 100), 6))
    last = d.rng.randint(1, 4)
    for place, (number, value) in enumerate(zip(numbers, values, strict=True)):
        lines = [f"{one} = {d.rng.randint(10, 999)}" for one in d.rng.sample(others, 2)]
        if place == last or (place < last and d.rng.random() < 0.6):
            lines.insert(d.rng.randint(0, 2), f"{key} = {value}")
        elif place > last and d.rng.random() < 0.6:
            lines.insert(d.rng.randint(0, 2), f"{d.rng.choice(('# ', '#', 'x_'))}{key} = {value}")
        d.file(f"{work}/{number}-{d.stem()}.conf", as_lines(lines))
    d.file(f"{work}/99-{d.stem()}.conf.old", f"{key} = {d.rng.randint(1_000, 9_999)}\n")
    d.values |= {"folder": work, "key": key}
    d.gold = [f"cat {work}/*.conf | sed -n 's/^{key} = //p' | tail -n 1"]
    return str(values[last])


def quoted(*paths: str) -> str:
    """Paths as words of a script."""
    return " ".join(map(quote, paths))


def noted(d: Drawn, work: str, count: int) -> list[str]:
    """Put files of notes into a folder, with names that any order sorts alike."""
    paths = sorted(f"{work}/{d.stem()}.txt" for _ in range(count))
    for path in paths:
        d.file(path, as_lines(d.rng.choices(NOTES, k=d.rng.randint(1, 5))))
    return paths


ANSWERED: Mapping[str, Callable[[Drawn], str]] = {
    "find_text": _find_text,
    "find_largest": _find_largest,
    "find_newest": _find_newest,
    "count_level": _count_level,
    "count_files": _count_files,
    "count_users": _count_users,
    "in_archive": _in_archive,
    "sum_column": _sum_column,
    "var_value": variables,
    "run_script": _run_script,
    "last_wins": _last_wins,
}
