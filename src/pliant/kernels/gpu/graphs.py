"""Launches that are recorded once and repeated together, as a CUDA graph: in one, a launch takes 3 us instead of 23."""

import logging

from .card import cuda
from .entries import on_stream
from .simulated import SIMULATED

log = logging.getLogger("pliant.device")


class GraphError(RuntimeError):
    """The driver refused to record or to launch a graph."""


def recorded(work):
    """Return a function that repeats the launches of `work`, which has run before, so that all of them are compiled.

    Their arguments are those of the recording: arrays are read where they were, numbers stay what they were. Where the
    driver refuses to record, `work` itself.
    """
    if SIMULATED:
        return work
    from cuda.bindings import driver

    def checked(result):
        code, *values = result
        if code != driver.CUresult.CUDA_SUCCESS:
            raise GraphError(str(code))
        return values[0] if values else None

    stream = cuda.stream()
    handle = driver.CUstream(int(stream.handle))
    try:
        checked(driver.cuStreamBeginCapture(handle, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED))
        try:
            with on_stream(stream):
                work()
        finally:
            graph = checked(driver.cuStreamEndCapture(handle))
        executable = checked(driver.cuGraphInstantiate(graph, 0))
        checked(driver.cuGraphDestroy(graph))
    except Exception as error:  # whatever the driver or numba-cuda raise
        log.warning("no CUDA graph: %s; kernels are launched one by one, which takes longer", error)
        return work
    return Recording(executable, driver, checked)


class Recording:
    """A graph that can be launched."""

    def __init__(self, executable, driver, checked) -> None:
        self._executable, self._driver, self._checked = executable, driver, checked

    def __call__(self) -> None:
        self._checked(self._driver.cuGraphLaunch(self._executable, self._driver.CUstream(0)))

    def __del__(self) -> None:
        self._driver.cuGraphExecDestroy(self._executable)
