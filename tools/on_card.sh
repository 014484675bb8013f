#!/bin/sh
# Everything that needs a graphics card, in one call of less than ten minutes: unpacks the wheels of
# tools/carry_wheels.py, runs tests/gpu and the benchmarks, and writes what they print and their tables to $OUT.
#
#     tools/on_card.sh [STEP ...]     # tests, bench, simulations, gradients, costs (default: the first three); keep: only
#                                     # take wheels
#
# Each file of tests/gpu is a process of its own, because most of their time is compiling, on one thread. ONLY=NAME
# measures one part of `bench` or `simulations`, LIMIT=SECONDS ends a step.
#
# Needs Python 3.12 with NumPy and SciPy, for `gradients` PyTorch for CUDA, a driver and a toolkit of CUDA 13. QUICK=1 takes small cases, for a dry run
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

# tests_together: every file of tests/gpu in a process, all at once; their output, one after the other, to tests.txt
tests_together() {
    logs=$(mktemp -d) began=$(date +%s)
    for file in tests/gpu/test_*.py; do
        name=$(basename "$file" .py)
        (
            NUMBA_NUM_THREADS=${THREADS:-4} timeout -k 5 "${LIMIT:-420}" "$PYTHON" -m pytest -p no:cacheprovider -q \
                --durations=3 "$file" >"$logs/$name.txt" 2>&1
            echo "== $name: exit $? after $(($(date +%s) - began)) s: $(tail -n 1 "$logs/$name.txt")" >>"$logs/$name.txt"
        ) &
    done
    wait
    cat "$logs"/*.txt >>"$OUT/tests.txt"
    grep -hE "^(FAILED|ERROR|E   )|^== " "$OUT/tests.txt"
    rm -r "$logs"
    echo "== tests: $(($(date +%s) - began)) s, $(($(date +%s) - START)) s since the start"
}

quick=${QUICK:+--quick}
for part in ${*:-tests bench simulations}; do
    case $part in
    tests) tests_together ;;
    bench) step bench "${LIMIT:-270}" "$PYTHON" -m pliant_bench.gpu $quick ${ONLY:+--only $ONLY} ;;
    simulations)
        step simulations "${LIMIT:-150}" "$PYTHON" -m pliant_bench.gpu_simulations $quick ${ONLY:+--only $ONLY}
        ;;
    gradients)
        step gradients "${LIMIT:-240}" "$PYTHON" -m pytest -p no:cacheprovider -q tests/gpu/test_gradients.py
        step gradients "${LIMIT:-240}" "$PYTHON" -m pliant_bench.gpu_gradients $quick
        ;;
    costs) step costs "${LIMIT:-60}" "$PYTHON" tools/card_costs.py ;;
    keep) ;;
    *) echo "unknown step $part" && exit 2 ;;
    esac
done
