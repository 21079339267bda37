"""The documentation's tables of settings and options, made from the settings classes.

A table of fields stands below ``<!-- settings: module:Class -->``, one of the command line's options below
``<!-- options: module:Class -->``, one of the keys of a file below ``<!-- model: module:Class -->``. The stored result
of ``benchmarks/cheats.py`` stands below ``<!-- cheats: held -->``, ``<!-- cheats: reported -->`` and
``<!-- cheats: left -->``.
``python -m tests.docs_tables`` writes them anew.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson

from simia_gym.cli.options import Option, options_of
from simia_gym.common.dotted_names import load_object

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGES = (
    DOCS / "command-line.md",
    DOCS / "reference" / "settings.md",
    DOCS / "reference" / "service.md",
    DOCS / "rubrics.md",
)
CHEATS = DOCS.parent / "benchmarks" / "results" / "cheats.json"
MARKED = re.compile(r"(<!-- (options|settings|model|cheats): (\S+) -->\n\n)(?:\|.*\n)*")


def with_tables(page: str) -> str:
    """The text of a page with all tables made from the classes as they are."""

    def table(found: re.Match[str]) -> str:
        if found[2] == "cheats":
            return found[1] + "".join(f"{row}\n" for row in cheat_rows(found[3]))
        kind: Any = load_object(found[3])
        if found[2] == "options":
            rows = ["| option | default | |", "|---|---|---|", *map(option_row, options_of(kind))]
        elif found[2] == "model":
            rows = ["| key | default | meaning |", "|---|---|---|"]
            rows += [key_row(field.alias or name, field) for name, field in kind.model_fields.items()]
        else:
            rows = ["| setting | default | meaning |", "|---|---|---|"]
            rows += [setting_row(name, field) for name, field in kind.fields().items()]
        return found[1] + "".join(f"{row}\n" for row in rows)

    return MARKED.sub(table, page)


def cheat_rows(stands: str) -> list[str]:
    """A row for each cheat: how often it succeeds in every domain, of how many episodes, and what its twin keeps."""
    scores = [score for score in orjson.loads(CHEATS.read_bytes()) if score["stands"] == stands]
    domains = list(dict.fromkeys(score["domain"] for score in scores))
    rows = [f"| class | cheat | {' | '.join(domains)} | its twin keeps |", "|---" * (len(domains) + 3) + "|"]
    names = dict.fromkeys((score["about"], score["cheat"]) for score in scores)
    for about, cheat in sorted(names, key=lambda name: name[0]):
        found = {score["domain"]: score for score in scores if (score["about"], score["cheat"]) == (about, cheat)}
        cells = [shown(found[domain]) if domain in found else "" for domain in domains]
        bent, lost = (sum(score[key] for score in found.values()) for key in ("bent", "lost"))
        rows.append(f"| {about} | {cheat} | {' | '.join(cells)} | {f'{1 - lost / bent:.1%}' if bent else '-'} |")
    return rows


def shown(score: Any) -> str:
    """How often a cheat succeeds; where that is reported, how often it is reported then."""
    told = f", {score['reported']} reported" if score["stands"] == "reported" else ""
    return f"{score['succeeded']} of {score['bent']}{told}" if score["bent"] else "-"


def key_row(name: str, field: Any) -> str:
    default = None if field.is_required() else field.get_default(call_default_factory=True)
    shown = "none" if default in (None, (), {}, "") else f"`{orjson.dumps(default).decode()}`"
    return f"| `{name}` | {'required' if field.is_required() else shown} | {field.description} |"


def setting_row(name: str, field: Any) -> str:
    unset = (field.json_schema_extra or {}).get("unset")
    default = "required" if field.is_required() else f"`{orjson.dumps(field.default).decode()}`"
    shown = f"{default}: {unset}" if field.default is None and unset else default
    return f"| `{name}` | {shown} | {(field.description or 'The id, such as `simia/retail-v0`.')} |"


def option_row(option: Option) -> str:
    value, text = option.default, option.field.description
    default = "" if value is None or value is False or value in ({}, ()) else f"`{'on' if value is True else value}`"
    flag = f"{option.flag}`, `{option.negated}" if value is True else option.flag
    if option.choices:
        text = f"{text} ({', '.join(option.choices)})"
    elif option.shown["metavar"]:
        flag += f" {option.shown['metavar']}"
    return f"| `{flag}` | {default or option.shown['unset'] or ''} | {text} |"


if __name__ == "__main__":
    for path in PAGES:
        path.write_text(with_tables(path.read_text(encoding="utf-8")), encoding="utf-8")
