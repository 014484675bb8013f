"""Memory of a graphics card that a query uses again instead of allocating it anew, for which the card would wait."""

from typing import Any

from ...kernels import device as _device


class Workspace:
    """Arrays by name. What is taken is valid until the next query takes the same name."""

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}

    def take(self, name: str, count: int, dtype: Any, width: int = 0) -> Any:
        """Return an uninitialised array (count,), or (count,width), of the card."""
        kept = self._arrays.get(name)
        if kept is None or len(kept) < count:
            self._arrays.pop(name, None)
            kept = None  # freed before more is allocated
            room = count + count // 8 + 1
            kept = self._arrays[name] = _device.empty((room, width) if width else room, dtype)
        return _device.part(kept, 0, count)

    def zeros(self, name: str, count: int, dtype: Any) -> Any:
        """Return the same, all zero."""
        from ...kernels.gpu import rows as _rows

        array = self.take(name, count, dtype)
        _device.launch(_rows.clear, count, array)
        return array
