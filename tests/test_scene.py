"""Bodies of tetrahedra at the door: what is refused and how, what they weigh, what a checkpoint knows of them."""

import dataclasses

import numpy as np
import pytest

from pliant.mesh import Mesh
from pliant.motion.rigid import IDENTITY_POSE, Motion
from pliant.scene import Body, Cloth, Grip, Scene, Solid
from pliant.shapes import bar, box, cloth, cylinder
from pliant.simulation.checkpoint import fingerprint

FOAM = Solid()
LOG = bar((0.4, 0.1, 0.1), (4, 1, 1))


def with_tets(tets: object) -> Mesh:
    return dataclasses.replace(LOG, tets=np.asarray(tets))


def swapped(rows: list[int]) -> Mesh:
    tets = LOG.tets.copy()
    tets[rows] = tets[rows][:, [1, 0, 2, 3]]
    return with_tets(tets)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Body(box(), material=FOAM), "'box' is a Solid without tets; use pliant.shapes.bar or"),
        (lambda: Body(LOG), "'bar' has tets, and its material is Cloth; give it a pliant.Solid"),
        (
            lambda: Body(swapped([3, 7]), material=FOAM),
            r"tets\[3\] of body 'bar' is inside out, .*\(2 of 20 are\); swap",
        ),
        (lambda: Body(with_tets([*LOG.tets, [0, 1, 2, 3]]), material=FOAM), r"tets\[20\] of body 'bar' is flat"),
        (lambda: Body(with_tets(LOG.tets[1:]), material=FOAM), "has 36 faces that are not the surface of its tets"),
        (lambda: Body(dataclasses.replace(LOG, faces=LOG.faces[:, ::-1]), material=FOAM), "Mesh.from_tets"),
        (lambda: Body(dataclasses.replace(LOG, faces=LOG.faces[:0]), material=FOAM), "no faces.*Mesh.from_tets"),
        (lambda: Body(LOG, material=FOAM, layer=1), "layer and flat are for cloth"),
        (lambda: Body(LOG, material=FOAM, flat=True), "layer and flat are for cloth"),
        (lambda: Body(LOG, material=FOAM, group="a"), "no group"),
        (lambda: Solid(young=0.0), "young = 0 must be greater than 0"),
        (lambda: Solid(poisson=0.5), "poisson = 0.5 must be at least 0 and below 0.5"),
        (lambda: Solid(poisson=-0.1), "poisson = -0.1 must be at least 0"),
        (lambda: Solid(poisson=float("nan")), "poisson = nan is not finite"),
        (lambda: Solid(density=0.0), "density"),
        (lambda: Solid(damping=-1.0), "damping"),
    ],
)
def test_what_is_no_soft_body_is_refused_with_a_reason(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_an_obstacle_may_have_tets():
    assert Scene([Body(LOG, obstacle=True)]).masses.sum() == 0.0


def test_a_quarter_of_each_tet_goes_to_its_corners():
    one = Mesh.from_tets([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    assert Scene([Body(one, material=Solid(density=600.0))]).masses == pytest.approx([25.0] * 4, rel=1e-14)
    round_one = cylinder(0.1, 0.3, 2)
    scene = Scene([Body(cloth(), material=Cloth()), Body(round_one, material=Solid(density=100.0))])
    assert scene.masses[scene.rows(1)].sum() == pytest.approx(100.0 * round_one.volume, rel=1e-12)
    assert (scene.masses > 0.0).all()
    assert (scene.cloths, scene.solids, scene.deformable) == ([0], [1], [0, 1])


def test_pins_grips_and_velocity_are_of_the_vertices_as_they_were_given():
    mesh = cylinder(0.1, 0.3, 2)
    top = np.flatnonzero(mesh.vertices[:, 1] > 0.149)
    low = np.flatnonzero(mesh.vertices[:, 1] < -0.149)
    assert (mesh.weld_index != np.arange(mesh.n_vertices)).any()
    still = Motion(np.zeros(1), IDENTITY_POSE[None])
    scene = Scene([Body(mesh, material=FOAM, pins=top, grips=[Grip(low, still)], velocity=(1.0, 2.0, 3.0))])
    state = scene.start()
    assert (state.x[mesh.weld_index] == mesh.vertices).all()
    held = np.isin(np.arange(mesh.n_vertices), [*top, *low])
    assert ((scene.inverse_masses[mesh.weld_index] == 0.0) == held).all()
    assert (state.v[mesh.weld_index] == np.where(held[:, None], 0.0, (1.0, 2.0, 3.0))).all()


def test_a_checkpoint_knows_the_tets_and_what_they_are_made_of():
    rolled = dataclasses.replace(LOG, tets=LOG.tets[:, [1, 2, 0, 3]])
    marks = [
        fingerprint(Scene([body]))
        for body in (
            Body(LOG, material=FOAM),
            Body(rolled, material=FOAM),
            *(Body(LOG, material=dataclasses.replace(FOAM, **{name: 0.3})) for name in ("young", "poisson", "density")),
            Body(LOG, material=Solid(damping=0.3)),
        )
    ]
    assert len(set(marks)) == len(marks)
    assert fingerprint(Scene([Body(LOG, material=Solid())])) == marks[0]
