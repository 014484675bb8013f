"""Usage errors of the command-line library in the words of this command line: what was typed, what is expected."""

import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, get_args


def usage_error(error: Any) -> str:
    """The message for an error of the command-line library, which names the option or the word that is wrong."""
    import cyclopts

    from . import COMMANDS, one_line

    command = " ".join(("pliant", *(error.command_chain or ())))
    if isinstance(error, cyclopts.UnusedCliTokensError):
        more = " ".join(error.unused_tokens or ())
        return f"{command} takes no further file or word: {more}; other files are options, see {command} --help"
    if isinstance(error, cyclopts.UnknownCommandError):
        return _unknown_command(str((error.unused_tokens or [""])[0]), list(COMMANDS))
    if isinstance(error, cyclopts.MissingArgumentError) and error.argument is not None:
        return _missing(error, command)
    if type(error) is cyclopts.CoercionError and error.token is not None and error.target_type in (int, float):
        wanted = "a whole number" if error.target_type is int else "a number"
        return f"{_name(error)} is {error.token.value!r}; expected {wanted}"
    if type(error) is cyclopts.CoercionError and error.token is not None and error.target_type is bool:
        return f"{_name(error)} is {error.token.value!r}; it is a switch, which takes no value"
    text, names = one_line(error), error.argument.names if error.argument is not None else ()
    return text if not names or any(name in text for name in names) else f"{names[0]}: {text}"


def _name(error: Any) -> str:
    """The option as it was typed, otherwise its long name; of a file without an option its name in the help."""
    if error.token is not None and error.token.keyword:
        typed = str(error.token.keyword)
        return (
            f"--{typed.strip('[]').replace('][', '.')}" if typed.startswith("[") else typed
        )  # of a file: [material][density]
    names = error.argument.names if error.argument is not None else ()
    return str(names[0]) if names else "a value"


def _unknown_command(word: str, commands: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(word, commands, n=1)
    if word.startswith("-"):
        return f"{word} stands before the command; write pliant COMMAND {word}, see pliant --help"
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"unknown command {word!r}; {hint}one of: {', '.join(commands)}"


def _missing(error: Any, command: str) -> str:
    """Of an option without all of its values, and of a file or an option that the command needs."""
    argument = error.argument
    count, _ = argument.token_count()
    option = next((name for name in argument.names if name.startswith("--")), str(argument.name))
    typed = error.keyword or next((token.keyword for token in reversed(argument.tokens) if token.keyword), None)
    if typed is None:
        what = argument.names[0] if argument.names else argument.name
        if argument.field_info.is_positional:
            return f"{command} needs a file, {what}; see {command} --help"
        return f"{command} needs {option}; see {command} --help"
    if _is_file(argument):
        return f"{typed} needs the name of a file"
    if count == 1:
        return f"{typed} needs a value; one that begins with a minus is written {option}=-1"
    return f"{typed} takes {count} values, and {len(error.tokens_so_far) % count} follow"


def check_whole_numbers(arguments: Any, given: Iterable[tuple[str, Any]]) -> None:
    """Raise ValueError for a fraction where an option takes a whole number; the library would round it.

    `given`: options with what was typed or stands in a file.
    """
    whole = set()
    for argument in arguments:
        kinds = (argument.hint, *get_args(argument.hint))
        if int in kinds and float not in kinds:
            whole.update(argument.names)
    for name, value in given:
        if name in whole and _is_fraction(value):
            raise ValueError(f"{name} is {str(value)!r}; expected a whole number")


def check_empty_names(arguments: Any, tokens: Sequence[str]) -> None:
    """Raise ValueError for an empty name of a file, which would be taken for the present folder."""
    files = {name for argument in arguments if _is_file(argument) for name in argument.names}
    for before, token in zip(["", *tokens], tokens):
        if token == "" and not before.startswith("-"):
            raise ValueError("the name of a file is empty; is a variable of the shell not set?")
        if (token == "" and before in files) or (token.endswith("=") and token[:-1] in files):
            raise ValueError(f"{before if token == '' else token[:-1]} needs the name of a file")


def _is_file(argument: Any) -> bool:
    return pathlib.Path in (argument.hint, *get_args(argument.hint))


def typed_options(tokens: Sequence[str]) -> Iterable[tuple[str, str]]:
    """The options on a command line, each with the text behind it, which may belong to something else."""
    for token, following in zip(tokens, [*tokens[1:], ""]):
        name, equals, value = token.partition("=")
        yield name, value if equals else following


def _is_fraction(value: Any) -> bool:
    try:
        return bool(float(value) % 1.0)  # also nan
    except (ValueError, TypeError):  # what is no number is refused where it is read
        return False
