"""The instructions for models, as Markdown files; a domain may replace one by its own ``prompts/NAME.md``.

A file may hold placeholders such as ``{{policy}}``. They are filled in one pass: inserted text is never searched for
placeholders.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from simia_gym.errors import InputError

FOLDER = "prompts"
"""The folder of a domain's own prompts, inside the domain's folder."""

_HERE = Path(__file__).resolve().parent
_PLACEHOLDER = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


@dataclass(frozen=True)
class PromptFile:
    """The instructions for one role."""

    path: Path
    text: str

    @cached_property
    def placeholders(self) -> tuple[str, ...]:
        """Names of its placeholders, in order of first use."""
        return tuple(dict.fromkeys(_PLACEHOLDER.findall(self.text)))

    def fill(self, **values: str) -> str:
        """Replace the placeholders by values; one without its placeholder is ignored.

        Raises:
            InputError: The file has an unknown placeholder.
        """
        for name in self.placeholders:
            if name not in values:
                line = self.text[: self._first(name)].count("\n") + 1
                known = ", ".join("{{" + each + "}}" for each in values) or "none"
                raise InputError(
                    f"unknown placeholder {{{{{name}}}}}",
                    where=f"{self.path}:{line}",
                    fix=f"Known here: {known}.",
                )
        return _PLACEHOLDER.sub(lambda match: values[match.group(1)], self.text)

    def _first(self, name: str) -> int:
        return next(match.start() for match in _PLACEHOLDER.finditer(self.text) if match.group(1) == name)


def prompt_names() -> tuple[str, ...]:
    """Names of all prompts."""
    return tuple(sorted(path.stem for path in _HERE.glob("*.md")))


def load_prompt(name: str, folder: Path | None = None) -> PromptFile:
    """Read the instructions for a role, from the domain's ``prompts/NAME.md`` where there is one.

    Raises:
        InputError: There is no such prompt, or it cannot be read.
    """
    if name not in prompt_names():
        raise InputError(f"there is no prompt {name!r}", where="prompt", fix=f"Known: {', '.join(prompt_names())}.")
    path = _HERE / f"{name}.md"
    if folder is not None and (own := folder / FOLDER / path.name).is_file():
        path = own
    try:
        return PromptFile(path, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the prompt cannot be read: {error}", where=str(path), fix="Write it as UTF-8.") from error


def prompt_problems(folder: Path) -> list[InputError]:
    """One error for each of a domain's own prompts whose name or placeholders the prompts of this package lack."""
    known = prompt_names()
    fix = f"Use one of these names: {', '.join(known)}."
    problems = []
    for path in sorted((folder / FOLDER).glob("*.md")):
        if path.stem not in known:
            problems.append(InputError("there is no prompt of this name to replace", where=str(path), fix=fix))
            continue
        try:
            load_prompt(path.stem, folder).fill(**dict.fromkeys(load_prompt(path.stem).placeholders, ""))
        except InputError as error:
            problems.append(error)
    return problems
