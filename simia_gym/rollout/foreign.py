"""The code that a domain brings along may raise anything; what it raises is a mistake of the domain, told in a line."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simia_gym.errors import DomainError, SimiaError


@contextmanager
def foreign_code(folder: Path | str) -> Iterator[None]:
    """Turn what the code of a domain raises into an error that names it.

    Args:
        folder: The domain's folder.

    Raises:
        DomainError: Something was raised that is no error of this package.
    """
    try:
        yield
    except SimiaError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if Path(folder).resolve() in Path(frame.filename).parents]
        last = (inside or frames)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
        what = f"the domain's code raised {type(error).__name__}: {error} ({place})"
        raise DomainError(what, where=str(folder), fix="Mend its world, state, reward or user.") from error
