"""Bake runs of a sweep: each slab of a distance field is a separate job; the field is joined when all are on disk."""

import contextlib
import pathlib
from typing import Any

from ..detect.fields import slabs as _slabs
from ..detect.fields.slabs import Layout
from ..mesh import Mesh
from ..motion.clip import Clip
from .plan import Run
from .work import Written, write_thumbnail
from .worker import Job

FIELD = "field.npz"


def slab_jobs(run: Run, folder: pathlib.Path) -> list[Job]:
    """Return the jobs for the slabs of the field that are not yet on disk."""
    count = _layout(run)[1].slabs
    missing = [k for k in range(count) if not slab_file(folder, k, count).is_file()]
    task = {"run": run.plain(), "folder": str(folder)}
    return [Job("pliant.sweep.bakes:bake_slab", task | {"number": k}) for k in missing]


def bake_slab(task: dict[str, Any]) -> dict[str, Any]:
    """Bake one slab and write it atomically."""
    run, folder, number = Run.of(task["run"]), pathlib.Path(task["folder"]), task["number"]
    run.inputs["body"].check()
    mesh, layout = _layout(run)
    _slabs.save_slab(slab_file(folder, number, layout.slabs), _slabs.bake_slab(mesh, layout, number))
    return {}


def bake_run(run: Run, folder: pathlib.Path) -> Written:
    """Join the slabs into the field; they are kept until the record of the run is on disk."""
    mesh, layout = _layout(run)
    slabs = [slab_file(folder, k, layout.slabs) for k in range(layout.slabs)]
    figures = _slabs.join_slabs(folder / FIELD, mesh, layout, slabs)
    nodes = dict(zip(("nodes_x", "nodes_y", "nodes_z"), figures.pop("grid")))
    files = [FIELD]
    if run.thumbnail:
        files.append(write_thumbnail(folder, [Clip(mesh, mesh.vertices[None], (0.78, 0.74, 0.70))], 0))
    figures = {"triangles": mesh.n_faces, "slabs_baked": layout.slabs} | nodes | figures
    return Written(figures, files, times={})


def delete_slabs(folder: pathlib.Path) -> None:
    """Delete the slabs of a recorded run."""
    for slab in folder.glob("slab-*-of-*.npz"):
        with contextlib.suppress(OSError):
            slab.unlink()


def slab_file(folder: pathlib.Path, number: int, count: int) -> pathlib.Path:
    """Return the path of slab `number` of `count`."""
    return folder / f"slab-{number:05}-of-{count:05}.npz"


def _layout(run: Run) -> tuple[Mesh, Layout]:
    """Return the mesh, and the grid of its field with the layers at which it is divided into slabs."""
    options = {
        name: run.parameters[name] for name in ("resolution", "spacing", "band", "sign") if name in run.parameters
    }
    mesh = run.inputs["body"].load(run.parameters)
    return mesh, _slabs.layout(mesh, slabs=run.parameters.get("slabs", 1), **options)
