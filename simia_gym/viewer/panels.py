"""A domain's own view of its state, as the pages ask for it."""

from __future__ import annotations

from collections.abc import Sequence

from simia_gym.common.dotted_names import foreign_code
from simia_gym.domain.domain import Domain
from simia_gym.state import State
from simia_gym.viewer.steps import Panels


def panels_of_domain(domain: Domain) -> Panels | None:
    """The function ``view`` of a domain, for its states; ``None`` if it has none.

    Raises:
        InputError: The function cannot be loaded.
    """
    show = domain.hook("view")
    if show is None:
        return None

    def panels(state: State) -> Sequence[tuple[str, str]]:
        with foreign_code(domain.folder):
            found: Sequence[tuple[str, str]] = show(domain, state)
            return found

    return panels
