"""Import hooks: calls a function right after a module is imported.

verl's registries are in modules that take seconds to import and that read the platform at import. verl loads plug-ins
earlier, so a plug-in must not import these modules itself.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
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
    """Finds modules with registered actions by the other finders, and wraps their loaders."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Action]] = {}
        self._asking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.waiting or fullname in self._asking:
            return None
        self._asking.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._asking.discard(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.waiting.pop(fullname))
        return spec


class _Loader(Loader):
    """Wraps a module's loader and runs the actions after it."""

    def __init__(self, own: Loader, actions: list[Action]) -> None:
        self._own, self._actions = own, actions

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # The module keeps its original loader, which `inspect` needs to find its source.
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._own
        module.__loader__ = self._own
        self._own.exec_module(module)
        for action in self._actions:
            action(module)


_FINDER = _Finder()
