"""The point symbols of our figures as SVG; names are Plotly's. Pure."""

from __future__ import annotations

from collections.abc import Callable

# Each draws around (0, 0) with half size r; open ones are only stroked.
_PATHS: dict[str, Callable[[float], str]] = {
    "x": lambda r: f"M{-r} {-r}L{r} {r}M{-r} {r}L{r} {-r}",
    "circle": lambda r: f"M{-r} 0a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0",
    "diamond": lambda r: f"M0 {-r}L{r} 0L0 {r}L{-r} 0Z",
    "square": lambda r: f"M{-r} {-r}H{r}V{r}H{-r}Z",
    "line-ns": lambda r: f"M0 {-r}V{r}",
    "triangle-up": lambda r: f"M0 {-r}L{r} {r}H{-r}Z",
    "triangle-down": lambda r: f"M0 {r}L{r} {-r}H{-r}Z",
}


def marker(symbol: str, x: float, y: float, size: float, color: str) -> str:
    """One symbol, `size` pixels across, at (x, y).

    Raises:
        ValueError: no such symbol here.
    """
    name = symbol.removesuffix("-open").removesuffix("-thin")
    if name not in _PATHS:
        raise ValueError(f"symbol {symbol!r}; allowed: {', '.join(_PATHS)}")
    is_line = symbol.endswith("-open") or name in ("x", "line-ns")
    fill = "none" if is_line else color
    return (
        f'<path transform="translate({x:.1f} {y:.1f})" d="{_PATHS[name](size / 2)}" '
        f'style="fill:{fill};stroke:{color};stroke-width:2"/>'
    )
