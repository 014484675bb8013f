"""The wrap deformer: identity at rest, equivariance, thickness, rigid shells."""

import numpy as np
import pytest

from pliant import Mesh, Wrap, shapes
from proxies.garments import joined, sheet, thickened, tube, turned


def dressed() -> tuple[Mesh, Mesh]:
    """A dense tube with folds, and a coarse proxy of it, such that no vertex is as near to two of its triangles."""
    fine = tube(60, 30)
    c, s = np.cos(0.037), np.sin(0.037)
    fine = fine.moved(fine.vertices @ np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]]))
    bumps = 1.0 + 0.03 * np.cos(20.0 * fine.vertices[:, 1] + 5.0 * np.arctan2(fine.vertices[:, 0], fine.vertices[:, 2]))
    return fine.moved(fine.vertices * bumps[:, None]), tube(16, 8)


def moved(x: np.ndarray) -> np.ndarray:
    """A smooth deformation that is no rigid motion."""
    return x + 0.05 * np.sin(7.0 * x[:, [1, 2, 0]])


def test_the_rest_pose_is_reproduced_to_rounding() -> None:
    garment, proxy = dressed()
    assert np.abs(Wrap(garment, proxy).place(proxy.vertices) - garment.vertices).max() < 1e-12


def test_rigid_motions_are_reproduced_to_rounding() -> None:
    garment, proxy = dressed()
    turn, shift = turned(np.random.default_rng(3)), np.array([0.3, -1.2, 0.7])
    placed = Wrap(garment, proxy).place(proxy.vertices @ turn.T + shift)
    assert np.abs(placed - (garment.vertices @ turn.T + shift)).max() < 1e-12


def test_a_rotation_scaling_or_shift_of_everything_commutes_with_it() -> None:
    garment, proxy = dressed()
    x = moved(proxy.vertices)
    turn, shift = turned(np.random.default_rng(4)), np.array([5.0, -2.0, 1.0])
    plain = Wrap(garment, proxy).place(x)
    for scale in (1.0, 0.01, 100.0):
        one, two, at = (scale * y @ turn.T + shift for y in (garment.vertices, proxy.vertices, x))
        found = Wrap(garment.moved(one), proxy.moved(two)).place(at)
        assert np.abs(found - (scale * plain @ turn.T + shift)).max() < 1e-9 * scale + 1e-13


def test_the_order_of_vertices_does_not_matter() -> None:
    garment, proxy = dressed()
    rng = np.random.default_rng(5)
    p, q = rng.permutation(garment.n_vertices), rng.permutation(proxy.n_vertices)
    there, back = np.argsort(p), np.argsort(q)
    mixed = Mesh(garment.vertices[p], there[garment.faces]), Mesh(proxy.vertices[q], back[proxy.faces])
    plain = Wrap(garment, proxy).place(moved(proxy.vertices))
    assert np.abs(Wrap(*mixed).place(moved(proxy.vertices)[q]) - plain[p]).max() < 1e-12


def test_copies_of_a_vertex_along_a_seam_stay_together() -> None:
    garment, proxy = dressed()
    soup = Mesh(garment.vertices[garment.faces].reshape(-1, 3), np.arange(3 * garment.n_faces).reshape(-1, 3))
    placed = Wrap(soup, proxy).place(moved(proxy.vertices))
    assert (placed == Wrap(garment, proxy).place(moved(proxy.vertices))[garment.faces].reshape(-1, 3)).all()


def bent(x: np.ndarray, radius: float) -> np.ndarray:
    """The plane y = 0 bent around a cylinder along z."""
    angle, r = x[:, 0] / radius, radius + x[:, 1]
    return np.stack([r * np.sin(angle), r * np.cos(angle), x[:, 2]], 1)


def test_a_thick_shell_bent_around_a_cylinder_keeps_its_thickness_and_lies_on_it() -> None:
    fine = sheet(1.0, 0.5, 61, 31)
    garment, proxy = thickened(fine, 0.008), sheet(1.0, 0.5, 21, 11)
    placed = Wrap(garment, proxy).place(bent(proxy.vertices, 0.15))  # 19 degrees per edge
    one, two = placed[: fine.n_vertices], placed[fine.n_vertices :]
    assert np.abs(np.linalg.norm(one - two, axis=1) / 0.008 - 1.0).max() < 0.03
    inside = (np.abs(fine.vertices[:, 0] - 0.5) < 0.4) & (np.abs(fine.vertices[:, 2] - 0.25) < 0.2)
    middle = 0.5 * (one + two)[inside]
    assert np.abs(np.hypot(middle[:, 0], middle[:, 1]) - 0.15).max() < 0.0005


def test_the_facets_of_the_proxy_do_not_show() -> None:
    fine, proxy = sheet(1.0, 0.5, 61, 31), sheet(1.0, 0.5, 21, 11)
    placed = fine.moved(Wrap(fine, proxy).place(bent(proxy.vertices, 0.15)))
    start, beside = placed.topology.edge_faces
    inner = np.flatnonzero(placed.topology.n_faces_at_edge == 2)
    one, two = (placed.face_normals[beside[start[inner] + k]] for k in range(2))
    crease = np.degrees(np.arccos(np.clip((one * two).sum(1), -1.0, 1.0))).max()
    assert crease < 1.5 * np.degrees((1.0 / 60.0) / 0.15)  # where the facets show, it is three times as much


def test_a_button_stays_rigid_and_on_its_cloth() -> None:
    cloth, proxy = sheet(0.5, 0.5, 41, 41), sheet(0.5, 0.5, 11, 11)
    button = shapes.ball(0.008, 1, centre=(0.23, 0.01, 0.27))
    wrap = Wrap(joined(cloth, button), proxy)
    placed = wrap.place(bent(proxy.vertices, 0.12))
    rest, now = button.vertices, placed[cloth.n_vertices :]
    gaps = [np.linalg.norm(x[:, None] - x[None], axis=2) for x in (rest, now)]
    assert wrap.shells == 1
    assert np.abs(gaps[0] - gaps[1]).max() < 1e-12
    assert abs(np.hypot(*now.mean(0)[:2]) - 0.13) < 0.001


def test_positions_of_another_proxy_are_refused() -> None:
    garment, proxy = dressed()
    with pytest.raises(ValueError, match=r"x has shape \(3, 3\)"):
        Wrap(garment, proxy).place(np.zeros((3, 3)))
    with pytest.raises(ValueError, match="has no faces"):
        Wrap(garment, Mesh(proxy.vertices, np.zeros((0, 3), int)))
