"""Reading words, numbers and raw arrays from the bytes of a file one after the other; every failure knows its place."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .reading import Input

_WORD = re.compile(rb"\S+")
_MANY = 4096  # words from which on splitting all that is left is faster than to look for them one by one


class Cursor:
    """A place in a file's content. `text` may be given instead, as long as its line breaks are the file's."""

    def __init__(self, file: Input, text: bytes | None = None) -> None:
        self.file = file
        self.data = file.data if text is None else text
        self.at = 0

    @property
    def where(self) -> str:
        return self.line_of(self.at)

    def line_of(self, at: int) -> str:
        """The line of a byte, in words."""
        number = self.data.count(b"\n", 0, at) + 1
        return f"line {number}"

    def places(self, words: int) -> Callable[[int], str]:
        """Names the line of a row, where rows of that many words begin here."""
        start = self.at

        def line(row: int) -> str:
            found = next(itertools.islice(_WORD.finditer(self.data, start), row * words, None), None)
            return "end of file" if found is None else self.line_of(found.start())

        return line

    def bytes_of(self, wide: int) -> Callable[[int], str]:
        """Names the byte of a row, where rows of that many bytes begin here."""
        start = self.at
        return lambda row: f"byte {start + row * wide}"

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def word(self, what: str) -> bytes:
        """The next word; `what` was expected there."""
        found = _WORD.search(self.data, self.at)
        if found is None:
            raise self.file.fail("end of file", f"expected {what} (truncated?)")
        self.at = found.end()
        return found.group()

    def peek(self) -> bytes:
        """The next word, which stays the next; empty at the end."""
        found = _WORD.search(self.data, self.at)
        return found.group() if found else b""

    def line(self, what: str) -> bytes:
        """What is left of this line, its end passed."""
        if self.at >= len(self.data):
            raise self.file.fail("end of file", f"expected {what} (truncated?)")
        end = self.data.find(b"\n", self.at)
        end = len(self.data) if end < 0 else end
        text, self.at = self.data[self.at : end], end + 1
        return text

    def skip(self, word: bytes) -> bool:
        """Go behind the next `word`, if there is one."""
        found = self.data.find(word, self.at)
        if found >= 0:
            self.at = found + len(word)
        return found >= 0

    def whole(self, what: str, low: int = 0, high: int = 2**62) -> int:
        """A whole number in low..high; `what` names it."""
        return int(self.wholes(1, what, low, high)[0])

    def count(self, what: str, size: float) -> int:
        """How many of something that takes at least `size` bytes follow: refused where that many cannot."""
        n = self.whole(f"the number of {what}")
        self.need(n, size, what)
        return n

    def need(self, n: int, size: float, what: str) -> None:
        """Refuse `n` things of at least `size` bytes that the rest of the file cannot hold."""
        if n * size > self.left + 1:
            raise self.file.fail(self.where, f"{n} {what} declared, but {self.left} bytes are left (truncated?)")

    def wholes(self, n: int, what: str, low: int = -(2**62), high: int = 2**62) -> NDArray[np.int64]:
        """`n` whole numbers in low..high."""
        values = self._numbers(n, what, int, np.int64, "a whole number")
        bad = (values < low) | (values > high)
        if bad.any():
            value = int(values[np.argmax(bad)])
            limit = f"at least {low}" if value < low else f"at most {high}"
            raise self.file.fail(self.where, f"{what}: found {value}, expected {limit}")
        return values

    def floats(self, n: int, what: str) -> NDArray[np.float64]:
        """`n` numbers."""
        return self._numbers(n, what, float, np.float64, "a number")

    def _numbers(self, n: int, what: str, kind: Callable[[bytes], Any], dtype: Any, word: str) -> NDArray[Any]:
        if 2 * n > self.left + 1:
            why = f"{n} numbers expected for {what}, but {self.left} bytes are left (truncated?)"
            raise self.file.fail(self.where, why)
        start = self.at
        words = self._words(n)
        if len(words) < n:
            raise self.file.fail("end of file", f"{n} numbers expected for {what}, {len(words)} found (truncated?)")
        if not any(b"_" in w for w in words):  # Python reads 1_0 as ten
            try:
                return np.fromiter(map(kind, words), dtype, n)
            except (ValueError, OverflowError):
                pass
        self.at = start
        for _ in range(n):
            text = self.word(what)
            try:
                if b"_" in text:
                    raise ValueError
                np.array([kind(text)], dtype)
            except (ValueError, OverflowError):
                shown = text[:20].decode("latin-1")
                raise self.file.fail(self.where, f"{shown!r} is not {word}, as expected for {what}") from None
        raise self.file.fail(self.where, f"no numbers for {what}")

    def _words(self, n: int) -> list[bytes]:
        if n >= _MANY:
            rest = self.data[self.at :].split(None, n)
            self.at = len(self.data) - (len(rest.pop()) if len(rest) > n else 0)
            return rest
        words = []
        for _ in range(n):
            found = _WORD.search(self.data, self.at)
            if found is None:
                break
            words.append(found.group())
            self.at = found.end()
        return words

    def raw(self, n: int, dtype: Any, what: str) -> NDArray[Any]:
        """`n` items of a NumPy dtype as they lie in the file; native byte order."""
        kind = np.dtype(dtype)
        if n < 0 or n * kind.itemsize > self.left:
            raise self.file.fail(
                f"byte {self.at}", f"{n} {what} need {n * kind.itemsize} bytes, {self.left} are there (truncated?)"
            )
        values = np.frombuffer(self.data, kind, n, self.at)
        self.at += n * kind.itemsize
        return values
