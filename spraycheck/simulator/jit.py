"""Compile the simulator's kernels with numba, from its cache where that is not stale.

Imported by the kernel modules, which `run` imports on first use: importing `spraycheck`
imports no numba. numba looks at one file's time and size; kernels call functions of
other files, so a digest over all of them is kept beside the cache.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import cgutils
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])
_DIGEST = "simulator.sources"
# numba calls what it makes by types of its own; callers see the Python function.
_njit: Any = numba.njit
_intrinsic: Any = intrinsic


# No fastmath: results must be the same on every machine.
_OPTIONS = {"nogil": True, "error_model": "numpy"}


def kernel(function: F) -> F:
    """`function`, compiled at its first call from Python, with all that it calls.

    Without a cache where none can be kept.
    """
    try:
        made = _njit(cache=True, **_OPTIONS)(function)
        _drop_stale(made.stats.cache_path)
    except (RuntimeError, OSError):
        # numba may write neither beside this file nor in the home.
        made = _njit(**_OPTIONS)(function)
    return cast(F, made)


def part(function: F) -> F:
    """`function`, to be called by kernels only: its code is cached within theirs."""
    bare = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # compiles faster
    return cast(F, _njit(**_OPTIONS, **bare)(function))


def _unowned(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, values[0])
        null: Any = cgutils.get_null_value
        view.meminfo = null(view.meminfo.type)
        return view._getvalue()

    return array(array), generate


# In a kernel: the same array without its reference count. Counting at every call of a
# small function took half of the time. Whoever calls the kernel keeps the array alive.
unowned: Callable[[Any], Any] = _intrinsic(_unowned)


@functools.cache
def _drop_stale(cache_path: str) -> None:
    """Remove cached code of other sources. A reader meanwhile compiles again."""
    folder = Path(cache_path)
    sources = sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    mark = folder / _DIGEST
    if mark.is_file() and mark.read_text() == digest:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for path in sources:
        for index in folder.glob(f"{path.stem}.*.nbi"):
            index.unlink(missing_ok=True)
    mark.write_text(digest)
