"""Costs around kernels on a graphics card: launches, allocations, waiting, graphs. `python tools/card_costs.py`."""

import time

import numpy as np

from pliant.kernels import device


def microseconds(work, times: int = 300) -> float:
    """Mean of a call, waiting for the card at the end only."""
    work()
    device.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        work()
    device.synchronize()
    return 1e6 * (time.perf_counter() - start) / times


def main() -> None:
    if missing := device.missing():
        raise SystemExit(missing)
    from pliant.kernels.gpu import rows
    from pliant.kernels.gpu.card import module

    cuda = module()
    print("card:", device.card_name())
    small, large = device.zeros((64, 3)), 10_000_000
    ids = device.zeros(64, np.int64)
    print(f"launch of one array: {microseconds(lambda: device.launch(rows.count_up, 64, ids)):.1f} us")
    print(
        f"launch of an array and a number: {microseconds(lambda: device.launch(rows.fill_rows, 64, small, 1)):.1f} us"
    )
    print(f"launch of three arrays: {microseconds(lambda: device.launch(rows.take, 64, ids, small, small)):.1f} us")
    for count in (1, 1_000_000, large):
        print(
            f"allocate and free {8 * count:,} bytes: {microseconds(lambda count=count: device.empty(count), 50):.1f} us"
        )
    print(f"read one number: {microseconds(lambda: ids[:1].copy_to_host(), 100):.1f} us")
    print(f"write one number: {microseconds(lambda: device.zeros(1), 100):.1f} us")
    print(f"synchronise: {microseconds(device.synchronize):.1f} us")
    stream = cuda.stream()
    for name in ("begin_capture", "end_capture"):
        print(name, hasattr(stream, name), hasattr(cuda, name))


if __name__ == "__main__":
    main()
