"""Names and quoted text of USD files."""

from collections.abc import Iterator, Sequence


def unique_words(names: Sequence[str], fallback: str) -> Iterator[str]:
    """Yield unique names of letters, digits and underscores that do not start with a digit."""
    used: set[str] = set()
    for given in names:
        word = "".join(c if c.isascii() and c.isalnum() else "_" for c in given) or fallback
        base = name = f"_{word}" if word[0].isdigit() else word
        number = 2
        while name in used:
            name = f"{base}_{number}"
            number += 1
        used.add(name)
        yield name


def quoted(words: str) -> str:
    """Return text in quotes, without control characters."""
    plain = "".join(c if c.isprintable() else " " for c in words)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'
