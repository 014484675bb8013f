"""Bake runs of a sweep: the tiles of a field are separate jobs, joined when all are complete."""

import contextlib
import pathlib
from typing import Any

from ..detect.fields.slabs import Layout, bake_slab, join_slabs, layout, save_slab
from ..mesh import Mesh
from ..motion.clip import Clip
from .plan import Run
from .work import Written, write_thumbnail
from .worker import Job

FIELD = "field.npz"


def tile_jobs(run: Run, folder: pathlib.Path) -> list[Job]:
    """Return the jobs for the tiles of the field that are not yet on disk."""
    count = _placed(run)[1].slabs
    there = [_part(folder, k, count).is_file() for k in range(count)]
    task = {"run": run.plain(), "folder": str(folder)}
    return [Job("pliant.sweep.tiles:bake_tile", task | {"number": k}) for k in range(count) if not there[k]]


def bake_tile(task: dict[str, Any]) -> dict[str, Any]:
    """Bake one tile and write it atomically."""
    run, folder, number = Run.of(task["run"]), pathlib.Path(task["folder"]), task["number"]
    run.inputs["body"].check()
    mesh, place = _placed(run)
    save_slab(_part(folder, number, place.slabs), bake_slab(mesh, place, number))
    return {}


def join_run(run: Run, folder: pathlib.Path) -> Written:
    """Join the tiles into the field; they are kept until the record of the run is on disk."""
    mesh, place = _placed(run)
    parts = [_part(folder, k, place.slabs) for k in range(place.slabs)]
    figures = join_slabs(folder / FIELD, mesh, place, parts)
    nodes = dict(zip(("nodes_x", "nodes_y", "nodes_z"), figures.pop("grid")))
    files = [FIELD]
    if run.thumbnail:
        files.append(write_thumbnail(folder, [Clip(mesh, mesh.vertices[None], (0.78, 0.74, 0.70))], 0))
    figures = {"triangles": mesh.n_faces, "tiles_made": place.slabs} | nodes | figures
    return Written(figures, files, times={})


def forget_tiles(folder: pathlib.Path) -> None:
    """Delete the tiles of a recorded run."""
    for part in folder.glob("tile-*-of-*.npz"):
        with contextlib.suppress(OSError):
            part.unlink()


def _placed(run: Run) -> tuple[Mesh, Layout]:
    given = run.parameters
    options = {name: given[name] for name in ("resolution", "spacing", "band", "sign") if name in given}
    mesh = run.inputs["body"].load(given)
    return mesh, layout(mesh, slabs=given.get("tiles", 1), **options)


def _part(folder: pathlib.Path, number: int, count: int) -> pathlib.Path:
    return folder / f"tile-{number:05}-of-{count:05}.npz"
