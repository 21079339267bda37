"""Import hooks: calls a function right after a module is imported.

verl's registries are in modules that take seconds to import and that read the platform at import. verl loads plug-ins
earlier, so a plug-in must not import these modules itself.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

Action = Callable[[ModuleType], object]


def after_import(name: str, action: Action) -> None:
    """Call a function right after a module's first import; at once if it is imported already."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.waiting.setdefault(name, []).append(action)


class _Finder(MetaPathFinder):
    """Finds modules with registered actions by the other finders, and lets their loaders run the actions, too."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Action]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        actions = self.waiting.pop(fullname, None)  # so that the following search does not ask here again
        spec = None if actions is None else importlib.util.find_spec(fullname)
        if actions is None or spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            for action in actions:
                action(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_FINDER = _Finder()
