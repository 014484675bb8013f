"""Whether Numba's simulator stands in for a card: NUMBA_ENABLE_CUDASIM=1, read once when `numba.cuda` is imported."""

import os

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")
