"""Code of domains and users: objects are imported by name, and exceptions of a domain's code become one-line errors."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import sys
import traceback
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import SourceFileLoader
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from simia_gym.common.file_marks import file_mark
from simia_gym.common.files import check_regular
from simia_gym.errors import DomainError, InputError, SimiaError

_FORM = "Write package.module:Name, or file.py:Name for a file in the folder."
_DECLARED = "simia_gym.service.parts:load_parts"
"""What gives the objects of a declaration, which stands above this module: ``service.yaml:expert``."""


def load_object(spec: str, *, folder: Path | None = None, where: str = "") -> object:
    """Import an object by name, ``package.module:Name`` or ``file.py:Name``; ``Name`` may have dots.

    ``service.yaml:Name`` is a part of a declared service. A file is relative to ``folder``, by default the current
    directory. It is loaded under a module name derived from its path and content: an unchanged file gives the same
    module, a changed file a new one. The file may import other files in its folder with ``from .other import x``.

    Raises:
        InputError: The name is malformed, the module does not exist or cannot be imported, or it has no such object;
            names ``where`` the name was written.
    """
    if not isinstance(spec, str):
        raise InputError(f"{spec!r} is not a text", where=where, fix=_FORM)
    source, colon, name = spec.rpartition(":")
    if not colon or not source or not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"{spec!r} names no object", where=where, fix=_FORM)
    module: Any
    if source.endswith(".py"):
        module = _module_from_file((folder or Path.cwd()) / source, spec, where)
    elif source.endswith(".yaml"):
        make: Any = load_object(_DECLARED)
        module = make((folder or Path.cwd()) / source)
    else:
        module = _module_by_name(source, spec, where)
    try:
        found: object = attrgetter(name)(module)
    except AttributeError:
        raise InputError(f"{source} has no {name!r} ({spec})", where=where, fix=_suggest(name, module)) from None
    return found


def load_function(spec: str, *, folder: Path | None = None, where: str = "") -> Callable[..., Any]:
    """Import a function by name; see `load_object`.

    Raises:
        InputError: As `load_object`, or the object cannot be called.
    """
    found = load_object(spec, folder=folder, where=where)
    if not callable(found):
        raise InputError(f"{spec!r} is not a function", where=where, fix="Name a function.")
    return found


def _module_by_name(source: str, spec: str, where: str) -> ModuleType:
    if not all(part.isidentifier() for part in source.split(".")):
        raise InputError(f"{spec!r} names no object", where=where, fix=_FORM)
    try:
        return importlib.import_module(source)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if source == missing or source.startswith(f"{missing}."):
            fix = "Check the spelling, or install the package, or run from the directory that holds it."
            raise InputError(f"there is no module {missing!r} ({spec})", where=where, fix=fix) from error
        raise InputError(
            f"{source} needs the module {missing!r}, which is not installed ({spec})", where=where, fix="Install it."
        ) from error
    except (Exception, SystemExit) as error:
        raise _cannot_import(source, spec, where, error, None) from error


def _module_from_file(path: Path, spec: str, where: str) -> ModuleType:
    try:
        check_regular(path)
        code = path.read_bytes()
    except OSError as error:
        reason = "there is no file" if isinstance(error, FileNotFoundError) else f"cannot read ({error.strerror})"
        raise InputError(f"{reason} {path} ({spec})", where=where, fix=_FORM) from None
    path = path.resolve()
    name = f"{_folder_package(path.parent)}.{path.stem}_{hashlib.sha256(code).hexdigest()[:12]}"
    loaded = sys.modules.get(name)
    if loaded is not None:
        return loaded
    module_spec = importlib.util.spec_from_file_location(name, path)
    if module_spec is None:
        raise InputError(f"{path} is not a Python file ({spec})", where=where, fix=_FORM)
    module = importlib.util.module_from_spec(module_spec)
    # Registered before it runs, as `import` does: dataclasses and pickle look modules up by name.
    sys.modules[name] = module
    try:
        exec(compile(code, str(path), "exec"), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception | SystemExit):
            raise _cannot_import(str(path), spec, where, error, str(path)) from error
        raise
    return module


class _Source(SourceFileLoader):
    """Compiles a file whenever it is imported: bytecode misses a change of equal file size within one second."""

    def path_stats(self, path: str) -> Mapping[str, Any]:
        """Know no time, so that bytecode is neither read nor written."""
        raise OSError


class _Neighbours(MetaPathFinder):
    """Finds what a folder's files import of each other, also when they do so while they run."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module of a folder's package; ``None`` for all others."""
        if not name.startswith(_PACKAGE):
            return None
        found = importlib.machinery.PathFinder.find_spec(name, path, target)
        if found is not None and isinstance(found.loader, SourceFileLoader):
            found.loader = _Source(found.loader.name, found.loader.path)
        return found


_PACKAGE = "_simia_folder_"
sys.meta_path.insert(0, _Neighbours())

_editions: dict[Path, bytes] = {}
"""The mark of all files of a folder, where it counts; see `use_edition`."""
_packages: dict[Path, str] = {}
"""The package of each folder's Python files as they were last seen."""
_kept: dict[str, int] = {}
"""The number of living owners of a package; see `keep_modules`."""


def _folder_package(folder: Path) -> str:
    """The name of a package for the folder; it changes whenever a Python file in the folder changes."""
    edition = next((_editions[place] for place in (folder, *folder.parents) if place in _editions), b"")
    digest = hashlib.sha256(str(folder).encode() + edition)
    for neighbour in sorted(folder.glob("*.py")):
        digest.update(f"\0{neighbour.name}\0".encode() + (file_mark(neighbour) if neighbour.is_file() else b""))
    name = f"{_PACKAGE}{digest.hexdigest()[:16]}"
    if name not in sys.modules:
        package = ModuleType(name, f"The Python files of {folder}.")
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    before = _packages.get(folder, name)
    _packages[folder] = name
    if before != name and edition and not _kept.get(before):
        _drop(before)
    return name


def use_edition(folder: Path, mark: bytes) -> None:
    """Import a folder's Python files anew if the mark of all its files is another one: code may read any of them."""
    _editions[folder] = mark


def keep_modules(folder: Path, owner: object) -> None:
    """Keep the modules of a folder's Python files as they are now while an object lives, which may run their code.

    After the last owner they are dropped, once the files have changed.
    """
    for place, package in [*_packages.items()]:
        if place.is_relative_to(folder):
            _kept[package] = _kept.get(package, 0) + 1
            weakref.finalize(owner, _release, place, package).atexit = False


def _release(folder: Path, package: str) -> None:
    _kept[package] -= 1
    if _kept[package] == 0 and _packages[folder] != package:
        _drop(package)


def _drop(package: str) -> None:
    _kept.pop(package, None)
    for name in [name for name in [*sys.modules] if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]


def _cannot_import(source: str, spec: str, where: str, error: BaseException, file: str | None) -> InputError:
    if isinstance(error, InputError):  # it says more than where the import failed
        return InputError(error.what, where=error.where, fix=error.fix)
    if isinstance(error, SyntaxError) and error.filename == file:
        line = f", line {error.lineno}"
    else:
        places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        line = f", line {places[-1]}" if places else ""
    message = f"cannot import {source}{line}: {type(error).__name__}: {error} ({spec})"
    return InputError(message, where=where, fix="Fix the module so that it can be imported.")


def _suggest(name: str, module: Any) -> str:
    public = [key for key, value in vars(module).items() if not key.startswith("_") and callable(value)]
    own = [key for key in public if getattr(vars(module)[key], "__module__", "") == module.__name__] or public
    close = difflib.get_close_matches(name, own, n=3)
    listed = ", ".join((close or sorted(own))[:8])
    return f"It has: {listed}." if listed else "It defines no functions or classes."


@contextmanager
def foreign_code(folder: Path | str, *, only_inside: bool = False) -> Iterator[None]:
    """Turn exceptions of a domain's code into an error that names the domain's folder and the line.

    Args:
        folder: The domain's folder.
        only_inside: Leave exceptions alone that did not pass through a file of the folder, which may be the caller's.

    Raises:
        DomainError: The code raised an exception other than a `SimiaError`.
    """
    try:
        yield
    except SimiaError:
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        inside = [frame for frame in frames if Path(folder).resolve() in Path(frame.filename).resolve().parents]
        if only_inside and not inside:
            raise
        last = (inside or frames)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
        what = f"the domain's code raised {type(error).__name__}: {error} ({place})"
        raise DomainError(what, where=str(folder), fix="Fix its world, state, reward or user.") from error
