#!/bin/sh
# Everything that needs a graphics card, in one call of less than ten minutes: unpacks the wheels of
# tools/carry_wheels.py, runs tests/gpu and the benchmarks, and writes what they print and their tables to $OUT.
#
#     tools/on_card.sh [STEP ...]     # tests, bench, simulations (default: all); keep: only take wheels
#
# Needs Python 3.12 with NumPy and SciPy, a driver and a toolkit of CUDA 13. QUICK=1 takes small cases, for a dry run
# in Numba's simulator: NUMBA_ENABLE_CUDASIM=1 QUICK=1 PYTHON=.venv/bin/python SITE= OUT=out/dry tools/on_card.sh
set -u
cd "$(dirname "$0")/.." || exit 1
PYTHON=${PYTHON:-python3} SITE=${SITE-$HOME/site} OUT=${OUT:-out/card}
mkdir -p "$OUT"
export CUDA_HOME=${CUDA_HOME:-/usr/local/cuda} PYTHONUNBUFFERED=1 PYTHONPATH="$PWD/src:$PWD/benchmarks:$PWD/tests:$SITE"
START=$(date +%s)
[ -n "$SITE" ] && "$PYTHON" tools/carry_wheels.py unpack "$SITE"

# step NAME SECONDS COMMAND...: its output goes to $OUT/NAME.txt, its last lines are shown
step() {
    name=$1 limit=$2 began=$(date +%s)
    shift 2
    timeout -k 5 "$limit" "$@" >>"$OUT/$name.txt" 2>&1
    code=$?
    echo "== $name: exit $code after $(($(date +%s) - began)) s, $(($(date +%s) - START)) s since the start"
    tail -n 40 "$OUT/$name.txt"
}

quick=${QUICK:+--quick}
for part in ${*:-tests bench simulations}; do
    case $part in
    tests)
        step tests 150 "$PYTHON" -m pytest -p no:cacheprovider -q --durations=5 tests/gpu
        ;;
    bench)
        step bench "${SECONDS_OF_BENCH:-270}" "$PYTHON" -m pliant_bench.gpu $quick
        ;;
    simulations)
        [ -f benchmarks/pliant_bench/gpu_simulations.py ] &&
            step simulations 150 "$PYTHON" -m pliant_bench.gpu_simulations $quick ${ONLY:+--only $ONLY}
        ;;
    keep) ;;
    *) echo "unknown step $part" && exit 2 ;;
    esac
done
