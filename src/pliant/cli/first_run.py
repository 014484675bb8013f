"""The first run of a command on a machine: its kernels are compiled side by side, with a progress bar."""

from . import output


def compile_first(command: str) -> None:
    """Compile what the list of `command` names, unless it was compiled before; say how long it will take."""
    from ..kernels import ahead

    wanted = ahead.missing(command)
    if not wanted:
        return
    total, cores = sum(call.seconds for call in wanted), ahead.workers(len(wanted))
    what = f"compiling {len(wanted)} kernels, only this once: about {total / cores:.0f} s on {cores} cores"
    with output.progress(what, 100) as advance:
        for call in ahead.compile_ahead(command, wanted):
            if call is None:
                advance(0)
            else:
                advance(100 * call.seconds / total, call.name)
