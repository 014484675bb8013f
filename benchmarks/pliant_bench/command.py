"""`pliant bench`: measurements next to those of the papers and of other libraries."""

import dataclasses
import pathlib
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from pliant.cli import output
from pliant.cli.field import HTML
from pliant.cli.output_paths import check_output, check_outputs

if TYPE_CHECKING:
    from pliant.report.tables import Report


@dataclasses.dataclass(frozen=True)
class GarmentOptions:
    """Options of `bench garments`."""

    only: tuple[str, ...] = ()
    "CHARACTER/GARMENT, a character or a garment, such as mannequin/skirt; repeat for more. Default: all."
    sizes: tuple[int, ...] = ()
    "Number of particles; repeat for each. Default: 1000, 4000, 16000, 40000; with --quick 1000, and 4000 for some."
    frames: int | None = None
    "Frames of a hundredth of a second. Default: the whole clip, two seconds of one that loops; with --quick 80."
    jobs: int = 1
    "Runs at the same time; more than one makes times unreliable."
    solver: Literal["xpbd", "implicit"] | None = None
    "How cloth is integrated, as for drape. Default: that of drape."
    substeps: int | None = None
    "Substeps per frame. Default: that of drape."
    self_contact: Literal["off", "push", "safe"] | None = None
    "Contact of cloth with itself, as for drape. Default: that of drape."
    limit: float | None = None
    "Seconds after which a run is stopped and counts as missed. Default: 600; with --quick 60."
    sheet: pathlib.Path | None = None
    "A folder for one PNG per run, six frames each. Default: none."
    hanging: bool = False
    "The length at which garments hang from the body at rest, self-contact off and safe, instead."


_ALL = GarmentOptions()


def bench(
    what: str | None = None,
    *tasks: str,
    paper: Literal["fuhrmann2003", "jung2005", "neal", "pelechano", "teschner2005"] | None = None,
    data: pathlib.Path | None = None,
    quick: bool = False,
    repeats: int | None = None,
    out: Annotated[pathlib.Path | None, Parameter(name=["--out", "-o"])] = None,
    report: pathlib.Path | None = None,
    save: pathlib.Path | None = None,
    json: bool = False,
    worn: Annotated[GarmentOptions, Parameter(name="*")] = _ALL,
) -> int:
    """Run benchmarks on this machine: `bench peers [T1 T2 ...]`, `bench garments`, `bench --paper fuhrmann2003`.

    Run it on an otherwise idle machine. Results are verified as well as timed.

    Parameters
    ----------
    what
        peers: the same tasks solved by OpenVDB, Open3D, Warp, libigl, scipy, the IPC Toolkit, Coal, FCL and Newton, as
        far as they are installed. garments: six garments on moving characters, at 1 000 to 40 000 particles, with
        strain, penetration, intersections, cost and length against bars (at full size for hours; --quick for minutes).
        gradients: a penetration loss with derivatives for points and body, in PyTorch and by the tape of Warp.
        gpu: samples of fields, distances, times of impact and nearest points on a graphics card, beside threads.
        growth: cost of a bake against resolution. skins: contacts with a skinned character
        by bone-attached boxes, bone-attached distance fields and the BVH. stochastic: recall, cost and time budget of
        the stochastic detectors. trees: every bounding volume, arity, build and update of a BVH on deforming meshes.
    tasks
        For peers: T1 (bake a narrow band), T2 (distance and gradient at points), T3 (nearest points), T4 (pairs of
        cloth primitives within a distance), T5 (largest step without collision), T6 (intersecting triangles), T6b (BVH
        refit), T7 (vertices in tetrahedra), T8 (a frame of cloth in contact), T9 (layered depth images), T9b (points
        inside a deforming mesh). Default: all.
    paper
        Every table and figure of a paper with numbers, ours beside it, and why where they differ. fuhrmann2003:
        distance fields. jung2005: spherical implicit surfaces against the cubic CCD equation. neal: height grids.
        pelechano: bone-attached bounding boxes. teschner2005: the survey's methods for deforming bodies.
    data
        A folder with the original models. Default: ../shared/data next to a checkout.
    quick
        Reduced sizes and few repeats: a smoke test, not for publication. With --paper only what was measured is shown,
        without what compares it with the paper, ratios and bars.
    repeats
        Runs per library, of which the fastest counts. Default: 5, or 2 with --quick.
    out
        Write an HTML page with tables and charts.
    report
        Run all benchmarks (every paper, every peer task and the rest; under half an hour on two cores) and write one
        HTML page. Libraries that are not installed are skipped; failures are listed.
    save
        A folder for tables as CSV and charts as SVG, in a subfolder named after the kind of machine.
    json
        Print JSON instead of tables.
    """
    from pliant.report.tables_page import write_files, write_tables_page
    from pliant.validate import choice, whole

    from . import machine, suite
    from .quick import LINE, quick_report

    if report is not None:
        if what is not None or paper is not None or out is not None:
            raise ValueError("--report runs all benchmarks; leave out the benchmark, --paper and --out")
        return _run_all(report, data, quick, repeats, save, json)
    known = ("peers", *suite.REPORTS)
    if (what is None) == (paper is None):
        raise ValueError(f"name a benchmark, one of: {', '.join(known)}, --paper {' | '.join(suite.PAPERS)}")
    if what in suite.PAPERS:
        raise ValueError(f"{what} is a paper; did you mean --paper {what}?")
    if what is not None:
        choice("benchmark", what, known)
    spelt = {task.lower(): task for task in suite.TASKS}
    chosen = [choice("task", spelt.get(task.lower(), task), suite.TASKS) for task in tasks]
    if chosen and what != "peers":
        raise ValueError(f"{' '.join(tasks)}: only peers has tasks")
    chosen_garments = _garments(worn, what)
    count = whole("repeats", repeats, low=1, high=1000) if repeats is not None else 2 if quick else 5
    check_outputs([("--out", out, HTML)])
    _check_folders(data, save)
    output.say_if_compiling("fields.bake.bake_tiles")
    with output.progress("measuring") as advance:

        def tell(note: str) -> None:
            advance(note=note)

        if paper is not None:
            found = suite.PAPERS[paper](quick=quick, repeats=count, folder=data, progress=tell)
            found = quick_report(found) if quick else found
        elif what == "peers":
            named = chosen or suite.TASKS
            found = suite.peers_report(named, quick=quick, repeats=count, folder=data, progress=tell)
        elif chosen_garments is not None:
            options = {"choice": chosen_garments, "done": output.say}
            found = suite.garments_report(quick=quick, repeats=count, folder=data, progress=tell, **options)
        else:
            found = suite.REPORTS[str(what)](quick=quick, repeats=count, folder=data, progress=tell)
    written = []
    if out is not None:
        write_tables_page(out, found)
        written.append(out)
    if save is not None:
        written += write_files(save / machine.name(), found, paper or str(what))
    if json:
        output.print_json(found.plain() | {"written": [str(path) for path in written]})
    else:
        for path in written:
            output.console().print(f"written: {path}")
        if LINE in found.findings:
            output.console().print(LINE, markup=False)
        _show(dataclasses.replace(found, findings=[text for text in found.findings if text != LINE]))
    return 0


def _garments(worn: GarmentOptions, what: str | None) -> Any:
    """The choice of `bench garments`, None for other benchmarks."""
    from pliant.validate import number, whole

    from .garments.gauntlet import Choice

    if what != "garments":
        for option, given in dataclasses.asdict(worn).items():
            if given != getattr(GarmentOptions, option):
                raise ValueError(f"--{option.replace('_', '-')} is for pliant bench garments")
        return None
    sizes = tuple(whole("sizes", size, low=100, high=1_000_000) for size in worn.sizes)
    whole("jobs", worn.jobs, low=1, high=256)
    for name, given, high in (("frames", worn.frames, 100_000), ("substeps", worn.substeps, 1000)):
        if given is not None:
            whole(name, given, low=1, high=high)
    if worn.limit is not None:
        number("limit", worn.limit, above=0.0)
    if worn.sheet is not None and worn.sheet.exists() and not worn.sheet.is_dir():
        raise NotADirectoryError(f"--sheet {worn.sheet} is not a folder")
    return Choice(**{**dataclasses.asdict(worn), "sizes": sizes or None})


def _check_folders(data: pathlib.Path | None, save: pathlib.Path | None) -> None:
    if data is not None and not data.is_dir():
        raise NotADirectoryError(f"{data} is not a folder; --data needs the folder with the mesh files")
    if save is not None and save.exists() and not save.is_dir():
        raise NotADirectoryError(f"--save {save} is not a folder")
    if save is not None:
        check_output(save / "table.csv")


def _run_all(
    page: pathlib.Path,
    data: pathlib.Path | None,
    quick: bool,
    repeats: int | None,
    save: pathlib.Path | None,
    json: bool,
) -> int:
    """Run all benchmarks and write one page; return 1 where one of them failed."""
    from pliant.report.tables_page import write_book_page, write_files
    from pliant.validate import whole as whole_number

    from . import machine, whole

    count = whole_number("repeats", repeats, low=1, high=1000) if repeats is not None else whole.REPEATS
    check_outputs([("--report", page, HTML)])
    _check_folders(data, save)
    output.say_if_compiling("fields.bake.bake_tiles")
    names, found, written = list(whole.chapters()), [], [page]
    with output.progress("measuring", len(names)) as advance:
        begun = whole.measure(
            names, quick=quick, repeats=count, folder=data, progress=lambda note: advance(0, note=note)
        )
        for chapter in begun:
            found.append(chapter)
            advance(note=chapter.name)
            output.say(f"{chapter.name}: {chapter.failed or f'{chapter.seconds:.0f} s'}")
            done = {c.name: c.report for c in found if c.report is not None}
            write_book_page(page, whole.summary(found), done)  # after each chapter, so that an abort loses no results
            if save is not None and chapter.report is not None:
                name = chapter.name.replace(" ", "-").lower()
                written += write_files(save / machine.name(), chapter.report, name)
    first = whole.summary(found)
    if json:
        output.print_json(first.plain() | {"written": [str(path) for path in written]})
    else:
        _show(first)
        output.console().print(f"written: {page}" + (f" and {len(written) - 1} files in {save}" if save else ""))
    return int(any(chapter.failed for chapter in found))


def _show(report: "Report") -> None:
    screen = output.console()
    for table in report.tables:
        who = [k for k, name in enumerate(table.headings) if name == "who"]
        right = " ".join(table.right)
        # a table of sentences is folded, one of numbers divided
        keys = 0 if "why" in table.headings else who[0] + 1 if who else 1
        output.table(table.headings, table.texts(), title=table.title, right=right, keys=keys)
    for text in (*report.findings, "", *(note for note in report.notes if note)):
        screen.print(text, markup=False)
