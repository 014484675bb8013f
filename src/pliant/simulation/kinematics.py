"""Kinematics: the prescribed motion of obstacles and grips within a frame."""

import logging
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..kernels.motion import rigid as _rigid
from ..motion.rigid import Motion
from ..scene import Scene
from ..state import State

log = logging.getLogger("pliant.simulation")
Floats = NDArray[np.float64]


class Target(NamedTuple):
    """Prescribed positions at the end of a substep: poses (k,3,4) of the rigid kinematic bodies; per deforming obstacle
    (by index), its bone matrices (k,3,4); positions (k,3) of the gripped vertices."""

    pose: Floats
    bones: dict[int, Floats]
    held: Floats


class Kinematics:
    """Moves the kinematic bodies and the gripped vertices of a scene.

    `follows`: the vertices of obstacles in `state.x` are moved in every substep, instead of once per frame.
    """

    def __init__(self, scene: Scene, follows: bool) -> None:
        self.scene, self.follows = scene, follows
        self._moving = scene.moving
        self._posed = [b for b in self._moving if b not in scene.deforming_motions]

    def targets(self, time: float, dt: float, substeps: int) -> list[Target]:
        """Return the target of each of `substeps` substeps of dt from `time` on."""
        ends = np.empty(substeps)
        for s in range(substeps):  # accumulated like state.time, so that both are bitwise identical
            time += dt
            ends[s] = time
        motions = [self.scene.bodies[b].motion for b in self._posed]
        ahead = [motion.sample(ends) for motion in motions if motion is not None]
        poses = np.stack(ahead, 1) if ahead else np.zeros((substeps, 0, 3, 4))
        bones = {b: shape.sample(ends) for b, shape in self.scene.deforming_motions.items()}
        held = self.scene.held_at(ends)
        return [Target(poses[k], {b: at[k] for b, at in bones.items()}, held[k]) for k in range(substeps)]

    def move(self, state: State, target: Target, dt: float) -> None:
        """Move bodies and grips to their target at the end of a substep of dt, storing the previous poses."""
        if self._moving:
            state.pose_start[:] = state.pose
            state.pose[self._posed] = target.pose
            state.bones = target.bones
            state.lapse = dt
            if self.follows:
                for b in self._moving:
                    rows, to = self.scene.rows(b), self.scene.place_of(b, state.pose, target.bones)
                    _rigid.move_to(to, dt, state.x[rows], state.x_start[rows], state.v[rows])
        state.x[self.scene.held] = target.held

    def end_frame(self, state: State) -> None:
        """Move the vertices of obstacles to their poses, unless every substep has done so."""
        if not self.follows:
            self.scene.place(state.x, state.pose, state.bones)

    def warn_of_speed(self, dt: float, substeps: int) -> None:
        """Warn of bodies that move farther than the contact offset in a substep, of which a frame of dt has some."""
        for b in self._moving if self.scene.deformable else ():
            body = self.scene.bodies[b]
            rigid = body.motion if isinstance(body.motion, Motion) else None
            speed = rigid.fastest(body.mesh.bounds) if rigid else self.scene.deforming_motions[b].fastest()
            step = speed * dt / substeps
            # detectors for deforming bodies find vertices at any depth, so only thin parts can be tunnelled through
            if step > (self.scene.eps if rigid else 4.0 * self.scene.eps):
                text = "body %r moves up to %.3g m per substep, more than eps = %.3g m; use more substeps"
                log.warning(text, body.label, step, self.scene.eps)
