"""Characters as they come: several skins and shells, open, mirrored, in centimetres, folded; and an oracle for `check`.

The characters are made as glTF; the oracle places them with `NaiveCharacter` and asks libigl for winding numbers and
distances. It shares no line with the product.
"""

import dataclasses

import numpy as np
from scipy.spatial.transform import Rotation

from characters import Made, NaiveCharacter
from detect.made import octahedron
from detect.shells import grid_box

CLOSED = ("robot", "eyes", "seams", "mirrored", "centimetres", "kilometres", "folded", "inward", "teleport")
OPEN = ("face", "neck", "card")
KINDS = (*CLOSED, *OPEN)
HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 1.0, 0.0]])


@dataclasses.dataclass
class Part:
    """A shell of a character in its rest pose, its bones and weights, and how it is stored."""

    x: np.ndarray
    faces: np.ndarray
    joints: tuple = (0,)
    weights: np.ndarray | None = None  # (n, joints)
    skinned: bool = True
    mirrored: bool = False
    morph: np.ndarray | None = None
    turned: bool = False  # stored inside out, and neither a cavity nor the whole: `check` reverses its faces
    split: bool = False  # vertices copied for every face, with their bones in another order


def ball(radius, centre, level=2):
    mesh = octahedron(level)
    return mesh.vertices * radius + centre, np.array(mesh.faces)


def opened(part, keep):
    """The faces of a shell whose centres satisfy `keep`."""
    x, faces = part
    return x, faces[keep(x[faces].mean(1))]


def post(low, high, radius, around=8, rings=9):
    """A closed post along y."""
    angle = 2.0 * np.pi * np.arange(around) / around
    heights = np.linspace(low, high, rings)
    x = [np.stack([radius * np.cos(angle), np.full(around, y), radius * np.sin(angle)], 1) for y in heights]
    x = np.concatenate([*x, [[0.0, low, 0.0], [0.0, high, 0.0]]])
    k, after = np.arange(around), (np.arange(around) + 1) % around
    faces = []
    for ring in range(rings - 1):
        a, b = around * ring + k, around * ring + after
        faces += [np.stack([a, a + around, b], 1), np.stack([b, a + around, b + around], 1)]
    end = around * (rings - 1)
    faces += [np.stack([k, after, 0 * k + len(x) - 2], 1), np.stack([end + after, end + k, 0 * k + len(x) - 1], 1)]
    return x, np.concatenate(faces)


def bent(x):
    """Weights of the lower and the upper bone."""
    upper = np.clip(0.5 + 2.0 * (x[:, 1] - 0.5), 0.0, 1.0)
    return np.stack([1.0 - upper, upper], 1)


def parts_of(kind, rng):
    """The shells of a character; they are turned about the vertical at random."""
    if kind == "robot":
        return [
            Part(*grid_box([-0.3, -0.1, -0.2], [0.3, 0.45, 0.2])),
            Part(*ball(0.22, [0.0, 0.5, 0.0]), (1,), skinned=False),
            Part(*grid_box([-0.15, 0.4, -0.15], [0.15, 1.05, 0.15]), (1,)),
            Part(*ball(0.2, [0.0, 1.1, 0.05]), (2,), morph=0.1 * rng.normal(size=3)),
        ]
    if kind == "eyes":
        head = ball(0.5, [0.0, 0.6, 0.0], 3)
        eyes = [Part(*ball(0.1, [s, 0.7, 0.42]), (2,)) for s in (-0.17, 0.17)]
        return [Part(*head, (0, 1), bent(head[0])), *eyes, Part(*ball(0.12, [0.0, 0.5, 0.0]), (1,))]
    if kind == "seams":  # two boxes that share an edge, four faces at it; and a shell with a copy of every vertex
        two = [grid_box([-0.3, 0.0, -0.3], [0.0, 0.5, 0.3]), grid_box([0.0, 0.5, -0.3], [0.3, 1.0, 0.3])]
        x, faces = post(-0.2, 1.2, 0.2)
        return [
            Part(*joined_shells(two)),
            Part(x, faces, (0, 1, 2), np.tile([0.25, 0.25, 0.5], (len(x), 1)), split=True),
        ]
    if kind == "mirrored":
        arm = ball([0.3, 0.1, 0.1], [0.4, 0.8, 0.0])
        other = arm[0] * [-1.0, 1.0, 1.0], arm[1][:, ::-1]
        x, faces = post(0.0, 1.1, 0.2)
        return [
            Part(x, faces, (0, 1), bent(x)),
            Part(*arm, (1,), skinned=False),
            Part(*other, (1,), skinned=False, mirrored=True),
        ]
    if kind in ("centimetres", "kilometres", "teleport"):
        x, faces = post(0.0, 1.1, 0.2)
        return [Part(x, faces, (0, 1), bent(x)), Part(*ball(0.3, [0.0, 1.0, 0.0]), (1,))]
    if kind == "folded":
        x, faces = post(-0.2, 1.2, 0.15, rings=21)
        return [Part(x, faces, (0, 1), bent(x))]
    if kind == "inward":  # a cavity, and a part that is inside out
        cavity, wrong = ball(0.15, [0.0, 0.3, 0.0]), ball(0.2, [0.9, 0.5, 0.0])
        return [
            Part(*ball(0.5, [0.0, 0.4, 0.0])),
            Part(cavity[0], cavity[1][:, ::-1]),
            Part(wrong[0], wrong[1][:, ::-1], (1,), turned=True),
        ]
    if kind == "face":
        face = opened(ball(0.4, [0.0, 0.9, 0.0], 3), lambda c: c[:, 2] > -0.1)
        return [Part(*face, (1,)), Part(*grid_box([-0.25, -0.1, -0.2], [0.25, 0.45, 0.2]))]
    if kind == "neck":
        x, faces = opened(post(0.0, 1.2, 0.25), lambda c: c[:, 1] < 1.19)
        return [Part(x, faces, (0, 1), bent(x)), Part(*ball([0.4, 0.12, 0.12], [0.0, 0.8, 0.0]), (1,))]
    card = np.array([[-0.2, 0.5, 0.7], [0.2, 0.5, 0.7], [0.2, 0.9, 0.7], [-0.2, 0.9, 0.7]])
    return [Part(card, np.array([[0, 1, 2], [0, 2, 3]]), (1,)), Part(*ball(0.5, [0.0, 0.6, 0.0]))]


def turn_about_y(rng):
    return Rotation.from_euler("y", rng.uniform(0.0, 360.0), degrees=True).as_matrix()


def made_character(parts, rng, *, scale=1.0, fold=40.0, travel=0.5, jumps=False):
    """The glTF of the parts on three bones below a node of this scale, with a clip "move" of 1 s, in which it travels
    or jumps."""
    made, unit = Made(), np.diag([scale, scale, scale, 1.0])
    steps = np.diff(np.concatenate([np.zeros((1, 3)), HEADS]), axis=0) / scale
    made.json["nodes"] = [
        {"name": "armature", "scale": [scale] * 3, "children": [1]},
        *({"name": f"bone {k}", "translation": steps[k].tolist(), "children": [k + 2]} for k in range(2)),
        {"name": "bone 2", "translation": steps[2].tolist(), "children": []},
    ]
    world = [np.eye(4) for _ in HEADS]
    for matrix, head in zip(world, HEADS):
        matrix[:3, :3] *= scale
        matrix[:3, 3] = head
    inverse = np.stack([np.linalg.inv(m) @ unit for m in world]).transpose(0, 2, 1).astype("<f4")
    made.json["skins"] = [
        {"joints": [1, 2, 3], "inverseBindMatrices": made.accessor(inverse, "MAT4")},
        {"joints": [3, 2, 1], "inverseBindMatrices": made.accessor(inverse[::-1], "MAT4")},
    ]
    for k, part in enumerate(parts):
        _add_part(made, k, part, world, scale)
    made.json["animations"] = [_clip(made, rng, scale, fold, travel, jumps)]
    return made


def _add_part(made, k, part, world, scale):
    weights = np.ones((len(part.x), 1)) if part.weights is None else part.weights
    x, faces = part.x, part.faces
    if part.split:
        x, weights = x[faces].reshape(-1, 3), weights[faces].reshape(-1, weights.shape[1])
        faces = np.arange(len(x)).reshape(-1, 3)
    node = {"name": f"part {k}", "mesh": k}
    if part.skinned:
        skin = k % 2
        stored = x / scale
        joints, shares = np.zeros((len(x), 4), "u1"), np.zeros((len(x), 4), "<f4")
        for column, joint in enumerate(part.joints):
            joints[:, column], shares[:, column] = joint if skin == 0 else 2 - joint, weights[:, column]
        if part.split:  # copies of a vertex list its bones in different orders
            joints[::2], shares[::2] = joints[::2, ::-1].copy(), shares[::2, ::-1].copy()
        node["skin"] = skin
    else:
        joint, mirror = part.joints[0], np.diag([-1.0 if part.mirrored else 1.0, 1.0, 1.0, 1.0])
        back = np.linalg.inv(world[joint] @ mirror)
        stored = x @ back[:3, :3].T + back[:3, 3]
        faces = faces[:, ::-1] if part.mirrored else faces
        if part.mirrored:
            node["scale"] = [-1.0, 1.0, 1.0]
    kind = "<u2" if len(x) < 65536 else "<u4"
    attributes = {"POSITION": made.accessor(stored.astype("<f4"), "VEC3")}
    if part.skinned:
        attributes |= {"JOINTS_0": made.accessor(joints, "VEC4"), "WEIGHTS_0": made.accessor(shares, "VEC4")}
    primitive = {"attributes": attributes, "indices": made.accessor(faces.astype(kind), "SCALAR")}
    if part.morph is not None:
        moved = np.broadcast_to(part.morph / scale, stored.shape).astype("<f4")
        primitive["targets"] = [{"POSITION": made.accessor(moved, "VEC3")}]
    made.json["meshes"].append({"name": f"mesh {k}", "primitives": [primitive]})
    made.json["nodes"].append(node)
    above = 0 if part.skinned else 1 + part.joints[0]
    made.json["nodes"][above]["children"].append(len(made.json["nodes"]) - 1)


def _clip(made, rng, scale, fold, travel, jumps):
    """Rotations of the bones (linear, cubic), a travelling root at uneven times, a bone that grows in steps."""
    times = np.array([0.0, 0.07, 0.5, 1.0], "<f4")
    samplers, channels = [], []

    def add(node, path, t, values, how):
        samplers.append(
            {
                "input": made.accessor(np.asarray(t, "<f4"), "SCALAR"),
                "output": made.accessor(np.asarray(values, "<f4"), "VEC4" if path == "rotation" else "VEC3"),
                "interpolation": how,
            }
        )
        channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})

    bend = Rotation.from_euler("x", fold * np.array([[0.1], [0.4], [1.0], [-0.8]]), degrees=True).as_quat()
    add(2, "rotation", times, bend, "LINEAR")
    swing = Rotation.from_euler("z", [[0.0], [25.0], [-20.0], [5.0]], degrees=True).as_quat()
    cubic = np.zeros((4, 3, 4))
    cubic[:, 1], cubic[:, [0, 2]] = swing, 0.1 * rng.normal(size=(4, 2, 4))
    add(3, "rotation", times, cubic, "CUBICSPLINE")
    add(
        1,
        "translation",
        times,
        travel / scale * np.array([[0, 0, 0], [0.1, 0, 0], [0.5, 0.1, 0.3], [1, 0, 1]]),
        "STEP" if jumps else "LINEAR",
    )
    add(3, "scale", [0.0, 0.4, 0.8], [[1, 1, 1], [1.3, 1.3, 1.3], [0.8, 0.8, 0.8]], "STEP")
    for k, mesh in enumerate(made.json["meshes"]):
        if "targets" in mesh["primitives"][0]:
            node = next(n for n, each in enumerate(made.json["nodes"]) if each.get("mesh") == k)
            samplers.append(
                {
                    "input": made.accessor(times, "SCALAR"),
                    "output": made.accessor(np.array([0, 1, 0.3, -0.5], "<f4"), "SCALAR"),
                    "interpolation": "LINEAR",
                }
            )
            channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": "weights"}})
    return {"name": "move", "samplers": samplers, "channels": channels}


def saved(kind, rng, folder):
    """A character of a kind as a file, and its shells."""
    parts = parts_of(kind, rng)
    turn = turn_about_y(rng)
    for part in parts:
        if not part.mirrored and kind != "mirrored":
            part.x = part.x @ turn.T
    scale = {"centimetres": 0.01, "kilometres": 1000.0}.get(kind, 1.0)
    jumps = kind == "teleport"
    fold, travel = 150.0 if kind == "folded" else 40.0, 20.0 if jumps else 0.5
    made = made_character(parts, rng, scale=scale, fold=fold, travel=travel, jumps=jumps)
    return made.save(folder / f"{kind}.gltf"), parts


def shells_at(path, parts, time):
    """The shells (vertices, faces) of a saved character at a time of its clip, placed without the product; those that
    are inside out with their faces reversed."""
    twin = NaiveCharacter(path)
    nodes = {node["mesh"]: k for k, node in enumerate(twin.json["nodes"]) if "mesh" in node}
    found = []
    for k, part in enumerate(parts):
        x = twin.block(nodes[k], 0, 0, time)
        if part.split:  # one of the copies of each vertex
            first = np.zeros(len(part.x), np.int64)
            first[part.faces.ravel()] = np.arange(part.faces.size)
            x = x[first]
        found.append((x, part.faces[:, ::-1] if part.turned else part.faces))
    return found


def garment(rng, size=1.6, count=13):
    """A wavy sheet through the middle of a character."""
    u = np.linspace(-0.5, 0.5, count)
    x = np.stack([*np.meshgrid(u, u, indexing="ij"), np.zeros((count, count))], -1).reshape(-1, 3)
    x[:, 2] = 0.05 * np.sin(9.0 * x[:, 0]) + 0.02 * rng.normal(size=len(x))
    k = np.arange(count * count).reshape(count, count)
    a, b, c, d = (each.ravel() for each in (k[:-1, :-1], k[1:, :-1], k[1:, 1:], k[:-1, 1:]))
    turn = Rotation.from_euler("yx", rng.uniform(-40, 40, 2), degrees=True).as_matrix()
    return size * x @ turn.T + [0.1, 0.6, 0.1], np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def joined_shells(shells):
    """All shells as one mesh (vertices, faces)."""
    first = np.cumsum([0, *(len(x) for x, _ in shells)])
    return np.concatenate([x for x, _ in shells]), np.concatenate([f + s for (_, f), s in zip(shells, first)])
