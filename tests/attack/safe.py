"""Attack on safe mode: a start without intersections stays so, or the run reports it; finite, and in bounded time.

The referee is IPC Toolkit's exact test of every frame. An intersection that the run did not report is a failure, and
so is a reported one where the scene leaves the cloth enough space.
"""

import numpy as np

from attack import referees, scenes
from pliant import Simulation
from pliant.simulation.drag import DragConstraint


def attack(trial):
    made = scenes.any_scene(trial.rng)
    scene = made.scene
    trial.note(made.what)
    sim = Simulation(scene, made.dt, substeps=made.substeps, method="tree")
    if hasattr(made, "kick"):
        sim.state.v[: len(made.kick)] += made.kick
    faces = [body.mesh.welded.faces + int(scene.first[b]) for b, body in enumerate(scene.bodies)]
    n_soft = int(scene.first[len(scene.deformable)])
    intersects = referees.IntersectionReferee(sim.state.x, np.concatenate(faces), n_soft)
    if intersects(sim.state.x):
        trial.note("start intersects")
        return
    # cracks closed by zero-area faces
    if intersects.gap(sim.state.x) <= 1e-12 * float(np.ptp(sim.state.x, axis=0).max()):
        trial.note("starts that touch within rounding")
    told_before = 0
    for k in range(made.frames):
        for frame, face, target in made.drags:
            if frame == k:
                drag = DragConstraint.at_point(scene, sim.state, 0, face, (1 / 3, 1 / 3, 1 / 3))
                drag.to = target
                sim.drags.append(drag)
        shown = sim.step()
        given = {"x": shown.x, "frame": k}
        if not trial.check(np.isfinite(shown.x).all(), f"{made.what}: frame {k} is not finite", **given):
            return
        trial.check(np.isfinite(sim.state.v).all(), f"{made.what}: velocities of frame {k} are not finite", **given)
        told = reported(sim)
        cut = intersects(shown.x)
        trial.check(not cut or told, f"{made.what}: frame {k} intersects without a report", **given)
        if cut:
            trial.check(not made.room, f"{made.what}: frame {k} intersects, reported, but there is space", **given)
            trial.note(f"reported intersections {'with' if made.room else 'without'} space ({made.what})")
            return
        if told and not told_before:
            trial.note("reported, nothing intersects")
        told_before = told
    trial.note("runs without intersections")


def reported(sim):
    """How often the run reported that it could not prevent an intersection."""
    guard = sim.self_contact
    return int(guard.failed_substeps) + int(guard.given_up_pairs)
