"""Every method and every named variant, judged by `pliant compare` on three scenes and two sequences.

`NUMBA_NUM_THREADS=1 python benchmarks/studies/variants.py [CASE ...]` prints a Markdown table: per case and
method the number of variants, the guarantee class, missed and extra contacts, whether all variants kept their guarantee
and the time relative to `bvh`; below it, the methods and variants that do not apply to a case, with the reason, so that
none is left out silently. Variants are the options of a method whose values are names, each value alone. Progress is
printed to stderr. The five cases take about 200 s of CPU time once all kernels are compiled, which takes about as
long again.
"""

import sys
import time

import numpy as np

import pliant
from pliant import shapes
from pliant.audit.compare import compare
from pliant.audit.comparison import Comparison, Role, Row
from pliant.detect.methods import METHODS
from pliant.detect.options import options_of
from pliant.motion.clip import Clip
from pliant.scenes import SCENES

MORE = ("image-space:resolution=64", "sphere-surface:levels=2", "stochastic-bvh:quality=0.9", "bone-boxes:exact=false")
CASES = ("tablecloth", "skirt", "cylinders", "rolling", "folding")


def variants() -> list[str]:
    """All methods, and each with every value of its options whose values are names."""
    out = []
    for name in METHODS:
        out.append(name)
        for option in options_of(name).values():
            out += [f"{name}:{option.name}={value}" for value in option.values if isinstance(value, str)]
    return [*out, *MORE]


def waves(sheet: pliant.Mesh, count: int, depth: float) -> Clip:
    """A sheet that folds."""
    x = np.repeat(sheet.vertices[None], count, 0)
    for k in range(count):
        x[k, :, 0] *= 1.0 - 0.9 * k / (count - 1)
        x[k, :, 1] += depth * (k + 1) / count * np.sin(60.0 * sheet.vertices[:, 0])
    return Clip(sheet, x)


def judged(case: str, methods: list[str]) -> Comparison:
    if case == "tablecloth":
        return compare(SCENES["tablecloth-on-bust"](resolution=14, eps=None), frames=2, every=25, methods=methods)
    if case == "skirt":
        return compare(SCENES["walking-skirt"](resolution=24, eps=None), frames=2, every=20, methods=methods)
    if case == "cylinders":
        scene = SCENES["cylinders"](eps=None, self_contact="off")
        return compare(scene, frames=2, every=12, methods=methods)
    if case == "rolling":
        ball, sheet = shapes.ball(0.1, 3), shapes.cloth(0.3, 0.3, 14, centre=(0.0, 0.105, 0.0))
        return compare(waves(sheet, 3, 0.01), ball, within=0.01, frames=3, methods=methods)
    return compare(waves(shapes.cloth(0.4, 0.4, 32), 3, 0.03), within=0.008, frames=3, methods=methods)


def span(values: list[int]) -> str:
    return f"{min(values):,}" if min(values) == max(values) else f"{min(values):,} to {max(values):,}"


def not_applicable(role: Role, methods: list[str]) -> list[str]:
    """One text for each method with variants that do not apply: which, how many, and why."""
    judged_here, out = {row.method for row in role.rows}, []
    for name in METHODS:
        missing = [text for text in methods if text.split(":")[0] == name and text not in judged_here]
        if missing:
            count = sum(text.split(":")[0] == name for text in methods)
            which = f"all {count} of {name}" if len(missing) == count else ", ".join(missing)
            why = "; ".join(dict.fromkeys(each.why for each in role.unfit if each.name.split(":")[0] == name))
            out.append(f"{which} ({why})")
    return out


def main() -> None:
    methods = variants()
    print(f"{len(methods)} methods and variants\n")
    print("| case, contacts | method | class | variants | there | missed | extra | recall | kept | CPU, of `bvh` |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    left_out = []
    for case in sys.argv[1:] or CASES:
        began = time.process_time()
        result = judged(case, methods)
        print(f"{case}: {time.process_time() - began:.0f} s of CPU time", file=sys.stderr, flush=True)
        for role in result.roles:
            left_out += [f"- {case}, {role.role}: {text}" for text in not_applicable(role, methods)]
            groups: dict[tuple[str, str], list[Row]] = {}
            for row in role.rows:
                groups.setdefault((row.method.split(":")[0], row.guarantee), []).append(row)
            base = next((row.seconds for row in role.rows if row.method == "bvh"), np.nan)
            for (method, guarantee), rows in groups.items():
                missed, extra, there = ([getattr(r, name) for r in rows] for name in ("missed", "extra", "expected"))
                lost = [row.method for row in rows if not row.kept]
                cells = [
                    f"{case}, {role.role}",
                    method,
                    guarantee,
                    str(len(rows)),
                    span(there),
                    span(missed),
                    span(extra),
                ]
                cells += [
                    f"{min(row.recall for row in rows):.3f}" if all(there) else "",
                    "**not by** " + ", ".join(lost) if lost else "yes",
                ]
                times = [row.seconds / base for row in rows]
                print("| " + " | ".join([*cells, f"{min(times):.2g} to {max(times):.2g}"]) + " |", flush=True)
    print("\nNot applicable:\n\n" + "\n".join(left_out))


if __name__ == "__main__":
    main()
