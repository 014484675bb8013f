"""Sequential reading of words, numbers and raw arrays from the bytes of a file; every error names its position."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .reading import Input

_WORD = re.compile(rb"\S+")
_MANY = 4096  # number of words above which one split is faster than searching word by word


class Cursor:
    """A read position in a file's content, or in `text`, which must have the same line breaks as the file."""

    def __init__(self, file: Input, text: bytes | None = None) -> None:
        self.file = file
        self.data = file.data if text is None else text
        self.at = 0

    @property
    def where(self) -> str:
        return self.line_of(self.at)

    def line_of(self, at: int) -> str:
        """Return "line N" for a byte offset."""
        number = self.data.count(b"\n", 0, at) + 1
        return f"line {number}"

    def line_of_row(self, words: int) -> Callable[[int], str]:
        """Return a function from row to "line N", for rows of `words` words that begin at the current position."""
        start = self.at

        def line(row: int) -> str:
            found = next(itertools.islice(_WORD.finditer(self.data, start), row * words, None), None)
            return "end of file" if found is None else self.line_of(found.start())

        return line

    def byte_of_row(self, width: int) -> Callable[[int], str]:
        """Return a function from row to "byte N", for rows of `width` bytes that begin at the current position."""
        start = self.at
        return lambda row: f"byte {start + row * width}"

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def word(self, what: str) -> bytes:
        """Read the next word; `what` names the expected item in errors."""
        found = _WORD.search(self.data, self.at)
        if found is None:
            raise self.file.fail("end of file", f"expected {what} (truncated?)")
        self.at = found.end()
        return found.group()

    def peek(self) -> bytes:
        """Return the next word without consuming it; empty at the end of the file."""
        found = _WORD.search(self.data, self.at)
        return found.group() if found else b""

    def line(self, what: str) -> bytes:
        """Read the rest of the current line and move to the next one."""
        if self.at >= len(self.data):
            raise self.file.fail("end of file", f"expected {what} (truncated?)")
        end = self.data.find(b"\n", self.at)
        end = len(self.data) if end < 0 else end
        text, self.at = self.data[self.at : end], end + 1
        return text

    def skip(self, word: bytes) -> bool:
        """Move past the next occurrence of `word`; return False if there is none."""
        found = self.data.find(word, self.at)
        if found >= 0:
            self.at = found + len(word)
        return found >= 0

    def integer(self, what: str, low: int = 0, high: int = 2**62) -> int:
        """Read an integer in low..high; `what` names it in errors."""
        return int(self.integers(1, what, low, high)[0])

    def count(self, what: str, size: float) -> int:
        """Read the number of items of at least `size` bytes each; raise if the rest of the file cannot hold them."""
        n = self.integer(f"the number of {what}")
        self.need(n, size, what)
        return n

    def need(self, n: int, size: float, what: str) -> None:
        """Raise if the rest of the file cannot hold `n` items of at least `size` bytes each."""
        if n * size > self.left + 1:
            raise self.file.fail(self.where, f"{n} {what} declared, but {self.left} bytes are left (truncated?)")

    def integers(self, n: int, what: str, low: int = -(2**62), high: int = 2**62) -> NDArray[np.int64]:
        """Read `n` integers in low..high."""
        values = self._numbers(n, what, int, np.int64, "a whole number")
        bad = (values < low) | (values > high)
        if bad.any():
            value = int(values[np.argmax(bad)])
            limit = f"at least {low}" if value < low else f"at most {high}"
            raise self.file.fail(self.where, f"{what}: found {value}, expected {limit}")
        return values

    def floats(self, n: int, what: str) -> NDArray[np.float64]:
        """Read `n` numbers."""
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
                excerpt = text[:20].decode("latin-1")
                raise self.file.fail(self.where, f"{excerpt!r} is not {word}, as expected for {what}") from None
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
        """Read `n` binary items of a NumPy dtype; without a prefix in the dtype the byte order is native."""
        kind = np.dtype(dtype)
        if n < 0 or n * kind.itemsize > self.left:
            raise self.file.fail(
                f"byte {self.at}", f"{n} {what} need {n * kind.itemsize} bytes, {self.left} are there (truncated?)"
            )
        values = np.frombuffer(self.data, kind, n, self.at)
        self.at += n * kind.itemsize
        return values
