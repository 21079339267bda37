"""Hooks of mkdocs: the pages at the top of the checkout join the site, and the API is read as it is installed."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

CHECKOUT = Path(__file__).resolve().parent.parent
PAGES = {
    "README.md": "index.md",
    **{f"{name}.md": f"{name}.md" for name in ("INVARIANTS", "CONTRIBUTING", "CHANGELOG")},
}
PICTURE = "benchmarks/results/learning.png"

_installed = tempfile.TemporaryDirectory()


@event_priority(100)
def on_config(config: Any) -> Any:
    """Show mkdocstrings the package as it is installed, with three of the four folders below `simia_gym`."""
    package = Path(_installed.name, "simia_gym")
    if not package.exists():
        only_code = shutil.ignore_patterns("__pycache__", "*.json*", "tasks")
        shutil.copytree(CHECKOUT / "simia_gym", package, ignore=only_code)
        for name in ("envs", "rewards", "rl"):
            shutil.copytree(CHECKOUT / name, package / name, ignore=only_code)
    config.plugins["mkdocstrings"].config.handlers["python"]["paths"] = [_installed.name]
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages, and the picture that one of them shows."""
    for source, target in PAGES.items():
        text = (CHECKOUT / source).read_text(encoding="utf-8").replace("](docs/", "](").replace(PICTURE, "learning.png")
        files.append(File.generated(config, target, content=text))
    files.append(File.generated(config, "learning.png", abs_src_path=str(CHECKOUT / PICTURE)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to the top of the checkout lead to their place in the site; other files of it have none."""
    up = "../" * page.file.src_uri.count("/")
    markdown = markdown.replace(f"](../{PICTURE})", f"]({up}learning.png)")
    markdown = re.sub(r"\]\((?:\.\./)+(INVARIANTS|CONTRIBUTING|CHANGELOG)\.md", rf"]({up}\1.md", markdown)
    return re.sub(
        r"\[([^\]]+)\]\((?:\.\./)+((?:simia_gym|envs|rewards|rl|benchmarks|tests)/[^)]*)\)", r"\1 (`\2`)", markdown
    )
