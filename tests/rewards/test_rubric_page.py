from __future__ import annotations

import re
from pathlib import Path

import yaml

from simia_gym.rewards import report
from simia_gym.rewards.programs.builtin import PROGRAMS
from simia_gym.rewards.rubric import RubricReward

PAGE = "docs/rubrics.md"
PROGRAMS_PAGE = "docs/reference/programs.md"


def test_the_page_lists_every_program_and_argument(checkout: Path) -> None:
    page = (checkout / PROGRAMS_PAGE).read_text(encoding="utf-8")
    for program in PROGRAMS.values():
        assert program.summary.endswith(".")
        assert f"| `{program.name}` | {program.summary} |" in page
        for name, (default, meaning) in program.arguments.items():
            shown = default if default == "needed" else f"`{default}`"
            assert f"| `{program.name}` | `{name}` | {shown} | {meaning} |" in page
            assert meaning.endswith(".")


def test_the_rubric_of_the_page_loads_and_its_report_is_what_comes_out(checkout: Path) -> None:
    page = (checkout / PAGE).read_text(encoding="utf-8")
    first, second = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(RubricReward(yaml.safe_load(first)).rubric.criteria) == 4
    assert len(RubricReward([*yaml.safe_load(first), *yaml.safe_load(second)]).rubric.criteria) == 6
    python = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shown = re.findall(r"```text\n(.*?)```", page, re.DOTALL)[-1]
    names: dict[str, object] = {"print": lambda text: None}
    exec(python[-1], names)
    verdict = names["verdict"]
    assert report(verdict) == shown.rstrip("\n")  # type: ignore[arg-type]
