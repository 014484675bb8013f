"""Signed distances of tensors: values, derivatives of first and second order, transformations, precision, errors."""

import functools

import numpy as np
import pytest

import pliant
from conftest import cases
from gradients.exact_distance import EXTENDED, unsigned, winding
from gradients.small_bodies import BOX, TET, case, tetrahedron

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import pliant.torch as pt  # noqa: E402

pytestmark = pytest.mark.compiled  # thousands of points
DOUBLE = {"dtype": torch.float64}
BALL = pliant.shapes.ball(0.5, 2)


def tensors(p, x, faces, **options):
    given = [torch.tensor(np.asarray(a), **(options or DOUBLE)).requires_grad_() for a in (p, x)]
    return *given, torch.tensor(np.asarray(faces))


def ball(count=50, seed=0, **options):
    rng = np.random.default_rng(seed)
    return tensors(rng.uniform(-0.8, 0.8, (count, 3)), BALL.vertices, BALL.faces, **options)


def test_distances_are_those_of_closest_point() -> None:
    p, x, faces = ball()
    d, _ = pliant.closest_point(BALL, p.detach().numpy())
    assert torch.equal(pt.signed_distance(p, x, faces), torch.from_numpy(d))


def test_derivatives_of_our_own_are_those_of_the_formulas() -> None:
    rng = np.random.default_rng(1)
    for k in range(cases(30)):
        x, faces, p = case(rng, k % 5)
        p, x, faces = tensors(p[None], x, faces)
        first = torch.autograd.grad(pt.signed_distance(p, x, faces).sum(), (p, x))
        again = torch.autograd.grad(pt.signed_distance(p, x, faces).sum(), (p, x), create_graph=True)
        for one, two in zip(first, again):
            assert torch.allclose(one, two, atol=1e-7)  # of points 1e-9 from the surface directions have 7 digits


def test_overlapping_parts_have_derivatives_at_creases() -> None:
    rng = np.random.default_rng(6)
    creases = 0
    for _ in range(cases(20)):
        x = np.concatenate([tetrahedron(rng), tetrahedron(rng)])
        faces = np.concatenate([TET, TET + 4])
        p = rng.dirichlet([1.0] * 4, 40) @ x[:4]
        p, x, faces = tensors(p, x, faces)
        kind = torch.ops.pliant.stencils(p[None], x[None], faces)[0][0]
        creases += int((kind == 4).sum())
        first = torch.autograd.grad(pt.signed_distance(p, x, faces).sum(), (p, x))
        again = torch.autograd.grad(pt.signed_distance(p, x, faces).sum(), (p, x), create_graph=True)
        for one, two in zip(first, again):
            assert torch.allclose(one, two, atol=1e-7)
    assert creases > 5 or cases(20) < 20


def test_gradcheck_and_gradgradcheck() -> None:
    rng = np.random.default_rng(3)
    for kind in range(2):
        x, faces, _ = case(rng, kind)
        p, x, faces = tensors(rng.normal(size=(2, 3)), x, faces)
        f = lambda p, x, faces=faces: pt.signed_distance(p, x, faces)  # noqa: E731
        assert torch.autograd.gradcheck(f, (p, x), check_forward_ad=True)
        assert torch.autograd.gradgradcheck(f, (p, x))


def test_second_derivatives_at_a_face_an_edge_and_a_corner() -> None:
    _, x, faces = tensors(np.zeros((1, 3)), BOX.vertices, BOX.faces)
    for p, eigenvalues in (([0.7, 0.1, 0.2], [0, 0, 0]), ([0.8, 0.9, 0.1], [0, 0, 2]), ([0.8, 0.9, 0.7], [0, 1, 1])):
        p = torch.tensor([p], **DOUBLE)
        h = torch.func.hessian(lambda p: pt.signed_distance(p, x, faces).sum())(p)[0, :, 0]
        away = torch.tensor(p.numpy() - np.clip(p.numpy(), -0.5, 0.5))
        expected = torch.tensor(eigenvalues, **DOUBLE) / away.norm()
        if eigenvalues[1]:
            expected = torch.tensor([0.0, 1.0, 1.0], **DOUBLE) / away.norm()
        elif eigenvalues[2]:
            expected = torch.tensor([0.0, 0.0, 1.0], **DOUBLE) / away.norm()
        assert torch.allclose(torch.linalg.eigvalsh(h), expected, atol=1e-12)


def of_coordinates(z, faces):
    """The distance of a point from a body, as a function of all their coordinates."""
    return pt.signed_distance(z[None, :3], z[3:].reshape(-1, 3), torch.tensor(faces))[0]


@pytest.mark.skipif(not EXTENDED, reason="long double has the precision of double here")
@pytest.mark.parametrize("count", [20, pytest.param(2000, marks=pytest.mark.long)])
def test_second_derivatives_are_those_of_exact_differences(count) -> None:
    rng = np.random.default_rng(8)
    compared = 0
    for k in range(cases(count)):
        x, faces, p = case(rng, k % 3)
        sign = -1.0 if winding(p, x, faces) > 0.6 else 1.0
        z = np.concatenate([p, x.ravel()])
        hessian = torch.func.hessian(functools.partial(of_coordinates, faces=faces))(torch.tensor(z)).numpy()
        step = 1e-5 * np.eye(len(z), dtype=np.longdouble)
        pairs = [(i, j) for i in range(len(z)) for j in rng.choice(len(z), 3)]
        at = np.stack([z + a * step[i] + b * step[j] for i, j in pairs for a in (1, -1) for b in (1, -1)])
        d = sign * unsigned(at[:, :3], at[:, 3:].reshape(len(at), -1, 3), faces).reshape(-1, 4)
        exact = (d[:, 0] - d[:, 1] - d[:, 2] + d[:, 3]) / 4e-10
        found = np.array([hessian[i, j] for i, j in pairs])
        size = max(1.0, float(np.abs(found).max()))
        if float(np.abs(exact).max()) > 100.0 * size or size > 30.0:  # a tie within the step, or very near the surface
            continue
        compared += 1
        assert np.abs(found - exact).max() < 1e-5 * size**2, k
    assert compared > 0.7 * cases(count)


def test_func_and_vmap() -> None:
    p, x, faces = ball(20)
    p, x = p.detach(), x.detach()
    f = lambda p, x: pt.signed_distance(p, x, faces)  # noqa: E731
    bodies = x * torch.tensor([0.5, 1.0, 1.5], **DOUBLE)[:, None, None]
    clouds = torch.stack([p, p * 0.9, p * 0.8])
    together = f(clouds, bodies)
    for one, two in (
        (torch.func.vmap(f)(clouds, bodies), together),
        (torch.func.vmap(f, in_dims=(0, None))(clouds, x), f(clouds, x)),
        (torch.func.vmap(f, in_dims=(None, 0))(p, bodies), f(p, bodies)),
    ):
        assert torch.allclose(one, two, atol=1e-14)
    jacobian = torch.func.jacrev(f)(p, x)
    forward = torch.func.jacfwd(f)(p, x)
    assert torch.allclose(jacobian, forward, atol=1e-12)
    single = lambda q, y: f(q[None], y)[0]  # noqa: E731
    each = torch.func.vmap(torch.func.grad(single, argnums=(0, 1)), in_dims=(0, None))(p, x)
    assert torch.allclose(each[0], torch.einsum("iij->ij", jacobian), atol=1e-12)
    q, y = p.clone().requires_grad_(), x.clone().requires_grad_()
    plain = torch.autograd.grad(f(q, y).sum(), (q, y))
    assert torch.allclose(each[0], plain[0], atol=1e-9)
    assert torch.allclose(each[1].sum(0), plain[1], atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_compile() -> None:
    p, x, faces = ball(20)
    loss = lambda p, x: (pt.signed_distance(p, x, faces) ** 2).sum()  # noqa: E731
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    one = torch.autograd.grad(compiled(p, x), (p, x))
    two = torch.autograd.grad(loss(p, x), (p, x))
    for a, b in zip(one, two):
        assert torch.allclose(a, b, atol=1e-9)


def test_operations_keep_the_rules_of_pytorch() -> None:
    p, x, faces = ball(5)
    torch.library.opcheck(torch.ops.pliant.stencils.default, (p.detach()[None], x.detach()[None], faces))
    torch.library.opcheck(torch.ops.pliant.winding_number.default, (p.detach(), x.detach(), faces))


def test_single_precision_has_the_error_of_its_rounding() -> None:
    p, x, faces = ball(500, dtype=torch.float32)
    d = pt.signed_distance(p, x, faces)
    assert d.dtype == torch.float32
    q, y = (t.detach().double().requires_grad_() for t in (p, x))
    exact = pt.signed_distance(q, y, faces)
    assert torch.equal(d, exact.float())
    ours, theirs = torch.autograd.grad(d.sum(), (p, x)), torch.autograd.grad(exact.sum(), (q, y))
    for one, two in zip(ours, theirs):
        assert one.dtype == torch.float32
        assert torch.equal(one, two.float())


def test_one_and_two_threads_give_the_same_bits() -> None:
    p, x, faces = ball(40_000)
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        value = pt.penetration(p, x, faces, clearance=0.1)
        found.append((value, *torch.autograd.grad(value, (p, x))))
    for one, two in zip(*found):
        assert torch.equal(one, two)


def test_gradients_are_never_nan() -> None:
    x, faces = BOX.vertices, BOX.faces
    p = np.concatenate([x, [[0, 0, 0], [0.5, 0, 0], [0.5, 0.5, 0.1]], x[faces].mean(1)])
    for q, y, f in ((p, x, faces), (p, np.zeros_like(x), faces), (p, x, [[0, 0, 0], [1, 1, 2], [0, 1, 0]])):
        q, y, f = tensors(q, y, f)
        for power in (1.0, 1.5, 2.0, 3.0):
            value = pt.penetration(q, y, f, clearance=0.0, power=power)
            first = torch.autograd.grad(value, (q, y), create_graph=True)
            second = torch.autograd.grad(sum(g.square().sum() for g in first), (q, y), allow_unused=True)
            plain = torch.autograd.grad(pt.signed_distance(q, y, f).sum(), (q, y))
            assert all(g is None or torch.isfinite(g).all() for g in (*first, *second, *plain))


def test_penetration_is_zero_where_the_clearance_is_kept_and_pushes_deep_points() -> None:
    _, x, faces = ball()
    p = torch.tensor([[0.0, 0.01, 0.0], [0.7, 0.0, 0.0]], requires_grad=True, **DOUBLE)
    value = pt.penetration(p, x, faces, reduction="none")
    assert value[1] == 0.0
    (g,) = torch.autograd.grad(value.sum(), p)
    assert g[0].norm() > 0.9  # twice the depth
    assert (g[1] == 0.0).all()
    with torch.no_grad():
        deep = (0.3 - pt.signed_distance(p, x, faces)).clamp(min=0)
        linear = pt.penetration(p, x, faces, clearance=0.3, power=1.0)
        mean = pt.penetration(p, x, faces, clearance=0.3, reduction="mean")
    assert float(linear) == pytest.approx(float(deep.sum()))
    assert float(mean) == pytest.approx(float(deep.square().mean()))


def test_inside_and_winding_number() -> None:
    p, x, faces = ball()
    inside = pt.inside(p, x, faces)
    assert torch.equal(inside, pt.signed_distance(p, x, faces) < 0)
    assert torch.equal(pt.winding_number(p, x, faces), inside.double())
    bodies = torch.stack([x, x * 0.5])
    assert pt.inside(p, bodies, faces).shape == (2, len(p))
    assert torch.equal(torch.func.vmap(lambda b: pt.inside(p, b, faces))(bodies), pt.inside(p, bodies, faces))


def test_gaps_are_the_distances_of_the_records() -> None:
    sheet = pliant.shapes.cloth(0.6, 0.6, 6, centre=(0.0, 0.51, 0.0))
    found = pliant.find_contacts(sheet, BALL, within=0.05)
    x = np.concatenate([sheet.vertices, BALL.vertices])
    t = torch.tensor(x, requires_grad=True, **DOUBLE)
    gaps = pt.gaps(found, t)
    assert len(found) > 5
    np.testing.assert_allclose(gaps.detach().numpy(), found["distance"], atol=1e-12)
    (g,) = torch.autograd.grad(gaps.sum(), t)
    expected = np.zeros_like(x)
    used = found["vertices"] >= 0
    push = (found["weights"] * used)[..., None] * found["normal"][:, None]
    np.add.at(expected, np.where(used, found["vertices"], 0), push)
    np.testing.assert_allclose(g.numpy(), expected, atol=1e-12)
    assert pt.gaps(found, torch.stack([t, t])).shape == (2, len(found))


def test_gaps_of_a_batch_are_its_distances() -> None:
    sheet = pliant.shapes.cloth(0.6, 0.6, 6, centre=(0.0, 0.51, 0.0))
    x_a = sheet.vertices + np.array([0.0, 0.02, 9.0])[:, None, None] * [0.0, 1.0, 0.0]
    batch = pliant.find_contact_batch(sheet, BALL, x_a=x_a, within=0.05)
    x = np.concatenate([x_a, np.broadcast_to(BALL.vertices, (3, *BALL.vertices.shape))], 1)
    t = torch.tensor(x, requires_grad=True, **DOUBLE)
    gaps = pt.gaps(batch, t)
    np.testing.assert_allclose(gaps.detach().numpy(), batch.distance, atol=1e-12)
    (g,) = torch.autograd.grad(gaps.sum(), t)
    expected = np.zeros_like(x)
    np.add.at(expected, (np.arange(3)[:, None, None], batch.vertices), batch.distance_jacobian())
    np.testing.assert_allclose(g.numpy(), expected, atol=1e-12)
    with pytest.raises(ValueError, match="one set of positions per pose"):
        pt.gaps(batch, t[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": [[0.0, 0.0, 0.0]]}, "points is a list; expected a torch.Tensor"),
        ({"p": torch.zeros(3, **DOUBLE)}, r"points has shape \(3,\); expected \(..., n, 3\)"),
        ({"p": torch.zeros(4, 3)}, "points has dtype float32 and vertices has float64"),
        ({"p": torch.zeros(4, 3, dtype=torch.int64)}, "points has dtype int64; expected float32 or float64"),
        ({"p": torch.full((1, 3), torch.nan, **DOUBLE)}, r"points\[0, 0\] is not finite"),
        ({"x": torch.full((162, 3), torch.inf, **DOUBLE)}, r"is not finite"),
        ({"faces": torch.zeros(4, 3)}, "faces has dtype float32; expected whole numbers"),
        ({"faces": torch.zeros(2, 4, 3, dtype=torch.int64)}, r"faces has shape \(2, 4, 3\)"),
        ({"faces": torch.tensor([[0, 1, 999]])}, r"faces\[0, 2\] = 999 but there are 162 vertices"),
        ({"faces": torch.zeros(0, 3, dtype=torch.int64)}, "faces is empty"),
        ({"p": torch.zeros(2, 4, 3, **DOUBLE), "x": torch.zeros(3, 162, 3, **DOUBLE)}, "same number of bodies"),
    ],
)
def test_bad_tensors_give_one_clear_error(change, message) -> None:
    p, x, faces = ball()
    given = {"p": p, "x": x, "faces": faces} | change
    with pytest.raises(ValueError, match=message):
        pt.signed_distance(given["p"], given["x"], given["faces"])


def test_bad_options_give_one_clear_error() -> None:
    p, x, faces = ball()
    for options, message in (
        ({"power": 0.5}, "power = 0.5"),
        ({"reduction": "total"}, "reduction"),
        ({"clearance": "near"}, "clearance"),
    ):
        with pytest.raises(ValueError, match=message):
            pt.penetration(p, x, faces, **options)


def test_no_points_and_no_derivatives_asked() -> None:
    p, x, faces = ball()
    assert pt.signed_distance(p[:0], x, faces).shape == (0,)
    assert pt.penetration(p[:0], x, faces, reduction="mean") == 0.0
    (g,) = torch.autograd.grad(pt.signed_distance(p, x.detach(), faces).sum(), p)
    (h,) = torch.autograd.grad(pt.signed_distance(p.detach(), x, faces).sum(), x)
    assert torch.allclose(g.sum(0), -h.sum(0), atol=1e-9)
