"""Turn exceptions of a domain's own code into one-line errors that name the domain."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simia_gym.errors import DomainError, SimiaError


@contextmanager
def foreign_code(folder: Path | str) -> Iterator[None]:
    """Turn exceptions of a domain's code into an error that names the domain and the line.

    Args:
        folder: The domain's folder.

    Raises:
        DomainError: The code raised an exception other than a `SimiaError`.
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
        raise DomainError(what, where=str(folder), fix="Fix its world, state, reward or user.") from error
