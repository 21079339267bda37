"""A copy of the file tree, whose world no other test has used."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "fixtures" / "files"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FILES, tmp_path / "files"))
