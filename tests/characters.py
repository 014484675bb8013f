"""The slow, obvious twin of `load_character`: one vertex block, one node, one time at a time, straight from the JSON.

Shares no line with the product: SciPy turns and interpolates, matrices are 4 x 4, no block knows of another.
"""

import base64
import functools
import json

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class NaiveCharacter:
    def __init__(self, path):
        data = path.read_bytes()
        if data[:4] == b"glTF":
            size = int.from_bytes(data[12:16], "little")
            self.json, self.binary = json.loads(data[20 : 20 + size]), data[28 + size :]
        else:
            self.json = json.loads(data)
            self.binary = base64.b64decode(self.json["buffers"][0]["uri"].split(",")[1])
            rest = [base64.b64decode(b["uri"].split(",")[1]) for b in self.json["buffers"][1:]]
            self.more = [self.binary, *rest]

    @functools.lru_cache(None)  # noqa: B019
    def accessor(self, index):
        a = self.json["accessors"][index]
        dtype, width = np.dtype(_TYPES[a["componentType"]]), _WIDTHS[a["type"]]
        out = np.zeros((a["count"], width))
        if "bufferView" in a:
            view = self.json["bufferViews"][a["bufferView"]]
            raw = self.binary if view.get("buffer", 0) == 0 else self.more[view["buffer"]]
            start = view.get("byteOffset", 0) + a.get("byteOffset", 0)
            stride = view.get("byteStride", dtype.itemsize * width)
            for i in range(a["count"]):
                out[i] = np.frombuffer(raw, dtype, width, start + i * stride)
        for s in [a["sparse"]] if "sparse" in a else []:
            index_view = self.json["bufferViews"][s["indices"]["bufferView"]]
            value_view = self.json["bufferViews"][s["values"]["bufferView"]]
            kind = np.dtype(_TYPES[s["indices"]["componentType"]])
            at = index_view.get("byteOffset", 0) + s["indices"].get("byteOffset", 0)
            rows = np.frombuffer(self.binary, kind, s["count"], at)
            at = value_view.get("byteOffset", 0) + s["values"].get("byteOffset", 0)
            out[rows] = np.frombuffer(self.binary, dtype, s["count"] * width, at).reshape(-1, width)
        if a.get("normalized"):
            out = np.maximum(out / np.iinfo(dtype).max, -1.0)
        return out

    @functools.lru_cache(1)  # noqa: B019
    def pose(self, animation, time):
        """{(node, path): value} of an animation."""
        if animation is None:
            return {}
        found = {}
        for channel in self.json["animations"][animation]["channels"]:
            sampler = self.json["animations"][animation]["samplers"][channel["sampler"]]
            path = channel["target"]["path"]
            t, v = self.accessor(sampler["input"])[:, 0], self.accessor(sampler["output"])
            found[channel["target"]["node"], path] = _value(
                t, v.reshape(len(t), -1), sampler.get("interpolation", "LINEAR"), path == "rotation", time
            )
        return found

    def world(self, node, pose):
        out = self._local(node, pose)
        for k, other in enumerate(self.json["nodes"]):
            if node in other.get("children", []):
                return self.world(k, pose) @ out
        return out

    def _local(self, node, pose):
        n = self.json["nodes"][node]
        if "matrix" in n:
            return np.reshape(n["matrix"], (4, 4)).T
        t = pose.get((node, "translation"), n.get("translation", [0, 0, 0]))
        r = pose.get((node, "rotation"), n.get("rotation", [0, 0, 0, 1]))
        s = pose.get((node, "scale"), n.get("scale", [1, 1, 1]))
        out = np.eye(4)
        out[:3, :3] = Rotation.from_quat(r).as_matrix() @ np.diag(s)
        out[:3, 3] = t
        return out

    def block(self, node, primitive, animation, time):
        """(n,3) positions of a primitive's vertices."""
        pose, n = self.pose(animation, time), self.json["nodes"][node]
        mesh = self.json["meshes"][n["mesh"]]
        p = mesh["primitives"][primitive]
        x = self.accessor(p["attributes"]["POSITION"])
        weights = pose.get((node, "weights"), n.get("weights", mesh.get("weights", [0] * len(p.get("targets", [])))))
        for w, target in zip(weights, p.get("targets", [])):
            x = x + w * self.accessor(target["POSITION"])
        h = np.column_stack([x, np.ones(len(x))])
        if "skin" not in n:
            return (h @ self.world(node, pose).T)[:, :3]
        skin = self.json["skins"][n["skin"]]
        inverse = [np.eye(4)] * len(skin["joints"])
        if "inverseBindMatrices" in skin:
            inverse = [m.reshape(4, 4).T for m in self.accessor(skin["inverseBindMatrices"])]
        matrices = [self.world(j, pose) @ m for j, m in zip(skin["joints"], inverse)]
        out, total = np.zeros((len(x), 3)), np.zeros(len(x))
        for suffix in ("_0", "_1"):
            if f"JOINTS{suffix}" not in p["attributes"]:
                continue
            joints = self.accessor(p["attributes"][f"JOINTS{suffix}"]).astype(int)
            shares = self.accessor(p["attributes"][f"WEIGHTS{suffix}"])
            for j, m in enumerate(matrices):
                share = np.where(joints == j, shares, 0.0).sum(1)
                out += share[:, None] * (h @ m.T)[:, :3]
                total += share
        return out / total[:, None]


def _value(t, v, interpolation, rotation, time):
    time = min(max(time, t[0]), t[-1])
    if interpolation == "CUBICSPLINE":
        slope_in, value, slope_out = np.split(v, 3, 1)
        k = min(max(np.searchsorted(t, time, side="right") - 1, 0), len(t) - 2) if len(t) > 1 else 0
        if len(t) == 1:
            out = value[0]
        else:
            slopes = np.stack([slope_out[k], slope_in[k + 1]])
            out = CubicHermiteSpline(t[k : k + 2], value[k : k + 2], slopes)(time)
        return out / np.linalg.norm(out) if rotation else out
    if interpolation == "STEP" or len(t) == 1:
        return v[np.searchsorted(t, time, side="right") - 1]
    if rotation:
        return Slerp(t, Rotation.from_quat(v))(time).as_quat()
    return np.array([np.interp(time, t, column) for column in v.T])


def naive_shape(character, twin, animation, time):
    """(n,3) positions of a loaded character's vertices, by its twin."""
    blocks = character.mesh.source.blocks
    return np.concatenate([twin.block(b.node, b.primitives[0], animation, time) for b in blocks])


def human(folder):
    """The walking human of the shared data."""
    from pliant_bench.bone_boxes import human_character

    return human_character(folder)


class Made:
    """A .gltf under construction."""

    def __init__(self):
        self.json = {"asset": {"version": "2.0"}, "accessors": [], "bufferViews": [], "nodes": [], "meshes": []}
        self.bytes = b""

    def accessor(self, array, kind, *, normalized=False):
        array = np.ascontiguousarray(array)
        view = {"buffer": 0, "byteOffset": len(self.bytes), "byteLength": array.nbytes}
        self.bytes += array.tobytes() + b"\0" * (-array.nbytes % 4)
        self.json["bufferViews"].append(view)
        component = next(k for k, v in _TYPES.items() if np.dtype(v) == array.dtype.newbyteorder("<"))
        entry = {"bufferView": len(self.json["bufferViews"]) - 1, "componentType": component, "type": kind}
        entry["count"] = array.size // _WIDTHS[kind]
        if normalized:
            entry["normalized"] = True
        self.json["accessors"].append(entry)
        return len(self.json["accessors"]) - 1

    def save(self, path):
        uri = "data:application/octet-stream;base64," + base64.b64encode(self.bytes).decode()
        self.json["buffers"] = [{"byteLength": len(self.bytes), "uri": uri}]
        path.write_text(json.dumps(self.json))
        return path


def made_character(rng, morphs=(0, 1, 2)):
    """Two skins, a mesh on a node, scales, matrices, eight weights of three number types, every interpolation."""
    made, n = Made(), 30
    count = 9
    for k in range(count):
        node = {"name": f"joint {k % 7}"}
        if k % 4 == 3:
            matrix = np.eye(4)
            matrix[:3] = np.eye(3, 4) + 0.2 * rng.normal(size=(3, 4))
            node["matrix"] = matrix.T.ravel().tolist()
        else:
            turn = Rotation.from_quat(rng.normal(size=4)).as_quat()
            node |= {"translation": rng.normal(size=3).tolist(), "rotation": turn.tolist()}
            node["scale"] = rng.uniform(0.5, 1.5, 3).tolist()
        made.json["nodes"].append(node)
    for k in range(count - 1, 0, -1):  # a child may have the smaller number
        made.json["nodes"][k].setdefault("children", [])
        made.json["nodes"][0 if k < 3 else int(rng.integers(1, k))].setdefault("children", []).append(k)
    faces = np.array([rng.permutation(n)[:3] for _ in range(20)], "<u2")
    indices = made.accessor(faces, "SCALAR")
    made.json["skins"] = []
    skinned = [(0, np.uint8), (1, np.uint16), (-1, None)]
    for k, (skin, kind) in enumerate(skinned):
        x = made.accessor(rng.normal(size=(n, 3)).astype("<f4"), "VEC3")
        primitive = {"attributes": {"POSITION": x}, "indices": indices}
        primitive["targets"] = [
            {"POSITION": made.accessor(rng.normal(size=(n, 3)).astype("<f4"), "VEC3")} for _ in range(morphs[k])
        ]
        node = {"mesh": k, "translation": [0.1 * k, 0, 0]}
        mesh = {"primitives": [primitive]}
        if k == 2:
            mesh["weights"] = [0.25, -0.5]
        if skin >= 0:
            joints = rng.permutation(count)[: 5 + skin].tolist()
            entry = {"joints": joints}
            if skin == 0:  # the other has identities
                inverse = np.tile(np.eye(4), (len(joints), 1, 1))
                inverse[:, :3] += 0.2 * rng.normal(size=(len(joints), 3, 4))
                entry["inverseBindMatrices"] = made.accessor(inverse.transpose(0, 2, 1).astype("<f4"), "MAT4")
            made.json["skins"].append(entry)
            most = np.iinfo(kind).max
            weights = (rng.dirichlet(np.full(8, 0.3), n) * most).round().astype(kind)
            for part in range(2):
                columns = slice(4 * part, 4 * part + 4)
                chosen = rng.integers(0, len(joints), (n, 4)).astype([np.uint8, np.uint16][part])
                primitive["attributes"][f"JOINTS_{part}"] = made.accessor(chosen, "VEC4")
                primitive["attributes"][f"WEIGHTS_{part}"] = made.accessor(weights[:, columns], "VEC4", normalized=True)
            node["skin"] = skin
        made.json["meshes"].append(mesh)
        made.json["nodes"].append(node)
        made.json["nodes"][4].setdefault("children", []).append(len(made.json["nodes"]) - 1)
    made.json["animations"] = [_made_clip(made, rng, how, count, morphs) for how in ("STEP", "LINEAR", "CUBICSPLINE")]
    return made


def _made_clip(made, rng, how, count, morphs):
    samplers, channels = [], []
    each = 3 if how == "CUBICSPLINE" else 1
    for node in range(count + 3):
        shapes = morphs[node - count] if node >= count else 0
        for path, width in (("translation", 3), ("rotation", 4), ("scale", 3), ("weights", shapes)):
            if "matrix" in made.json["nodes"][node] or width <= 0 or rng.random() < 0.2:
                continue
            if node >= count and path != "weights":
                continue
            keys = int(rng.integers(1, 6))
            times = np.sort(rng.uniform(0.1, 2.0, keys)).astype("<f4")
            values = rng.normal(size=(keys, each, width)).astype("<f4")
            if path == "rotation":
                values[:, each // 2] /= np.linalg.norm(values[:, each // 2], axis=1)[:, None]
            kind = {3: "VEC3", 4: "VEC4"}.get(width, "SCALAR") if path != "weights" else "SCALAR"
            samplers.append(
                {
                    "input": made.accessor(times, "SCALAR"),
                    "output": made.accessor(values, kind),
                    "interpolation": how,
                }
            )
            channels.append({"sampler": len(samplers) - 1, "target": {"node": node, "path": path}})
    return {"name": "move", "samplers": samplers, "channels": channels}


def small_character(*, weights=(0.5, 0.5, 0, 0), times=(0.0, 0.5, 1.0), turns=None, skin=True):
    """Two joints, four vertices, a morph target and a clip that drives it and the upper joint."""
    made = Made()
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], "<f4")
    attributes = {"POSITION": made.accessor(x, "VEC3")}
    made.json["nodes"] = [
        {"name": "lower", "children": [1], "scale": [1, 2, 1]},
        {"name": "upper", "translation": [0, 1, 0]},
        {"mesh": 0},
    ]
    if skin:
        attributes["JOINTS_0"] = made.accessor(np.tile(np.array([0, 1, 0, 0], "u1"), (4, 1)), "VEC4")
        shares = np.tile(np.array([1, 0, 0, 0], "<f4"), (4, 1))
        shares[2] = weights
        attributes["WEIGHTS_0"] = made.accessor(shares, "VEC4")
        inverse = np.tile(np.eye(4, dtype="<f4"), (2, 1, 1))
        made.json["skins"] = [{"joints": [0, 1], "inverseBindMatrices": made.accessor(inverse, "MAT4")}]
        made.json["nodes"][2]["skin"] = 0
    target = {"POSITION": made.accessor(0.5 * x, "VEC3")}
    made.json["meshes"] = [{"primitives": [{"attributes": attributes, "mode": 5, "targets": [target]}]}]
    if turns is None:
        turns = np.array([[0, 0, 0, 1], [0, 0, 0.6, 0.8], [0, 0, 0, 1]])
    keys = made.accessor(np.array(times, "<f4"), "SCALAR")
    cubic = made.accessor(np.arange(9).astype("<f4"), "SCALAR")
    made.json["animations"] = [
        {
            "samplers": [
                {"input": keys, "output": made.accessor(np.array(turns, "<f4"), "VEC4")},
                {"input": keys, "output": cubic, "interpolation": "CUBICSPLINE"},
            ],
            "channels": [
                {"sampler": 0, "target": {"node": 1, "path": "rotation"}},
                {"sampler": 1, "target": {"node": 2, "path": "weights"}},
            ],
        }
    ]
    return made


def post(*, clips=("sway", "still"), rings=13, around=12, radius=0.1):
    """A closed post of 1 m along y, held by two bones that meet in its middle; "sway" bends it to and fro."""
    import pliant
    from pliant.motion.animation import Animation, Skeleton, Track

    mesh = _tube(np.linspace(0.0, 1.0, rings), np.full(rings, radius), around, closed=True, name="post")
    skeleton = Skeleton.of_heads([-1, 0], [(0.0, 0.0, 0.0), (0.0, 0.5, 0.0)])
    angles = np.array([0.0, 0.04, -0.04, 0.0]) / 2.0
    turns = np.stack([0.0 * angles, 0.0 * angles, np.sin(angles), np.cos(angles)], 1)
    times = np.array([0.0, 0.1, 0.3, 0.4])
    sway = Track(Skeleton.column(1, "rotation"), times, turns, rotation=True)
    still = Track(Skeleton.column(1, "rotation"), times[::3], turns[::3], rotation=True)
    upper = np.clip(0.5 + 3.0 * (mesh.vertices[:, 1] - 0.5), 0.0, 1.0)
    inverse = np.tile(np.eye(3, 4), (2, 1, 1))
    inverse[1, 1, 3] = -0.5
    made = {"sway": Animation((sway,)), "still": Animation((still,))}
    return pliant.Character(
        mesh,
        ("lower", "upper"),
        [-1, 0],
        np.tile([0, 1], (mesh.n_vertices, 1)),
        np.stack([1.0 - upper, upper], 1),
        {name: made[name] for name in clips},
        skeleton,
        [0, 1],
        inverse,
    )


def sleeve(low=0.35, high=0.7, *, top=0.106, bottom=0.2, rings=8, around=16, name="sleeve"):
    """A garment for the post: open at both ends, as wide as `top` above and `bottom` below."""
    return _tube(np.linspace(low, high, rings), np.linspace(bottom, top, rings), around, closed=False, name=name)


def striker(speed, reach=0.72):
    """A post and, as a part of its own at its side, a straight arm that strikes through 160 degrees from the front to
    the back, between two keyframes at 30 a second; its hand moves at `speed` m/s."""
    import pliant
    from pliant.motion.animation import Animation, Skeleton, Track

    shoulder = np.array([0.2, 0.8, 0.0])
    trunk = _tube(np.linspace(0.0, 1.0, 6), np.full(6, 0.1), 8, closed=True, name="trunk")
    radii = 0.04 * np.array([0.2, 1.0, 1.0, 1.0, 1.0, 1.0, 0.3])
    x, arm = along_arm(_tube(np.linspace(0.0, reach, 7), radii, 8, closed=True, name="arm"), shoulder)
    half, lapse = np.radians(80.0), np.radians(160.0) * reach / speed
    times = np.array([0.0, lapse, lapse + 0.2])
    angles = np.array([-half, half, half]) / 2.0
    turns = np.stack([0.0 * angles, np.sin(angles), 0.0 * angles, np.cos(angles)], 1)
    strike = Animation((Track(Skeleton.column(1, "rotation"), times, turns, rotation=True),))
    inverse = np.tile(np.eye(3, 4), (2, 1, 1))
    inverse[1, :, 3] = -shoulder
    return pliant.Character(
        pliant.Mesh(
            np.concatenate([trunk.vertices, x]), np.concatenate([trunk.faces, arm + trunk.n_vertices]), name="striker"
        ),
        ("trunk", "arm"),
        [-1, 0],
        np.repeat([[0], [1]], [trunk.n_vertices, len(x)], axis=0),
        np.ones((trunk.n_vertices + len(x), 1)),
        {"strike": strike},
        Skeleton.of_heads([-1, 0], [(0.0, 0.0, 0.0), tuple(shoulder)]),
        [0, 1],
        inverse,
    )


def along_arm(mesh, shoulder=(0.2, 0.8, 0.0)):
    """A mesh along y as vertices and faces along x, the direction of the arm of a striker in its rest pose."""
    x, y, z = mesh.vertices.T
    return np.stack([y, -x, z], 1) + np.asarray(shoulder), np.array(mesh.faces)


def _tube(heights, radii, around, *, closed, name):
    import pliant

    angle = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    circle = np.stack([np.cos(angle), 0.0 * angle, np.sin(angle)], 1)
    x = [r * circle + np.array([0.0, y, 0.0]) for y, r in zip(heights, radii)]
    k, n = np.arange(around), len(heights)
    after = (k + 1) % around
    faces = []
    for ring in range(n - 1):
        a, b = around * ring + k, around * ring + after
        faces += [np.stack([a, a + around, b], 1), np.stack([b, a + around, b + around], 1)]
    if closed:
        x += [np.array([[0.0, heights[0], 0.0], [0.0, heights[-1], 0.0]])]
        low, top = n * around, around * (n - 1)
        faces += [np.stack([k, after, 0 * k + low], 1), np.stack([top + after, top + k, 0 * k + low + 1], 1)]
    return pliant.Mesh(np.concatenate(x), np.concatenate(faces), name=name)
