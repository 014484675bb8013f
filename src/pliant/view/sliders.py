"""The sliders of a scene: their ranges, their values, and the scene with another value of one."""

import dataclasses

import numpy as np

from ..scene import Cloth, Scene, Solid, Strands


@dataclasses.dataclass(frozen=True)
class Slider:
    """A slider: label, unit, lowest and highest value; `log`: logarithmic scale."""

    label: str
    unit: str
    low: float
    high: float
    log: bool = False


_COMMON = {
    "friction": Slider("friction", "", 0.0, 1.5),
    "eps": Slider("contact offset", "m", 0.001, 0.02, log=True),
    "gravity": Slider("gravity", "m/s²", 0.0, 20.0),
    "wind_x": Slider("wind, x", "m/s", -12.0, 12.0),
    "wind_y": Slider("wind, y", "m/s", -12.0, 12.0),
    "wind_z": Slider("wind, z", "m/s", -12.0, 12.0),
}
_SELF_CONTACT = {"thickness": Slider("thickness in self-contact", "m", 0.001, 0.02, log=True)}
_CLOTH = {
    "stretch": Slider("stretch stiffness", "N/m", 20.0, 20_000.0, log=True),
    "shear": Slider("shear stiffness", "N/m", 5.0, 5_000.0, log=True),
    "bend": Slider("bending stiffness", "N m", 1e-6, 1e-2, log=True),
    "density": Slider("area density", "kg/m²", 0.05, 1.0, log=True),
    "damping": Slider("internal damping", "m²/s", 0.0, 0.1),
}
_SOLID = {
    "young": Slider("Young's modulus", "Pa", 2e3, 1e6, log=True),
    "poisson": Slider("Poisson's ratio", "", 0.0, 0.48),
}


_STRANDS = {
    "strand_stretch": Slider("stretch stiffness of strands", "N", 10.0, 1e5, log=True),
    "strand_bend": Slider("bending stiffness of strands", "N m²", 1e-8, 1e-3, log=True),
}
# per slider of a material: the class of the material, and the name of the parameter
_MATERIALS: dict[str, tuple[type, str]] = (
    {name: (Cloth, name) for name in _CLOTH}
    | {name: (Solid, name) for name in _SOLID}
    | {name: (Strands, name.removeprefix("strand_")) for name in _STRANDS}
)


def sliders(scene: Scene, initial: Scene) -> dict[str, Slider]:
    """Return the sliders of a scene; each range includes its value and that of the initial scene."""
    found = dict(_COMMON) if scene.deformable else {}
    if scene.self_contact != "off":
        found |= _SELF_CONTACT
    found |= (_CLOTH if scene.cloths else {}) | (_SOLID if scene.solids else {})
    found |= _STRANDS if scene.strands else {}
    for name, r in found.items():
        values = value_of(initial, name), value_of(scene, name)
        if name in ("bend", "damping") and values[0] > 0.0:  # for a tablecloth they depend on its size
            r = dataclasses.replace(r, high=max(50.0 * values[0], r.high) if r.log else 10.0 * values[0])
        found[name] = dataclasses.replace(r, low=min(r.low, *values), high=max(r.high, *values))
    return found


def value_of(scene: Scene, name: str) -> float:
    """Return the current value of a slider."""
    if name == "gravity":
        return float(np.linalg.norm(scene.gravity))
    if name.startswith("wind_"):
        return float(scene.wind["xyz".index(name[-1])])
    if name in _MATERIALS:
        kind, own = _MATERIALS[name]
        found = [body.material for body in scene.bodies if not body.obstacle and isinstance(body.material, kind)]
        return float(getattr(found[0], own))
    return float(getattr(scene, name))


def with_parameter(scene: Scene, name: str, to: float) -> Scene:
    """Return the scene with a new slider value; material values apply to all bodies of that material."""
    if name == "gravity":
        length = float(np.linalg.norm(scene.gravity))
        # a zero vector would lose the direction of gravity
        to = max(to, 1e-9)
        down = np.asarray(scene.gravity) / length if length else np.array([0.0, -1.0, 0.0])
        return dataclasses.replace(scene, gravity=tuple((down * to).tolist()))
    if name.startswith("wind_"):
        wind = list(scene.wind)
        wind["xyz".index(name[-1])] = to
        return dataclasses.replace(scene, wind=(wind[0], wind[1], wind[2]))
    if name in _MATERIALS:
        kind, own = _MATERIALS[name]
        bodies = [
            dataclasses.replace(body, material=_changed(body.material, own, to))
            if not body.obstacle and isinstance(body.material, kind)
            else body
            for body in scene.bodies
        ]
        return dataclasses.replace(scene, bodies=bodies)
    return dataclasses.replace(scene, **{name: to})  # type: ignore[arg-type]


def _changed(material: Cloth | Solid | Strands, name: str, to: float) -> Cloth | Solid | Strands:
    """Return the material with a new value; where the weft has its own, it changes in the same proportion."""
    change, weft = {name: to}, getattr(material, f"{name}_weft", None)
    if weft is not None and getattr(material, name) > 0.0:
        change[f"{name}_weft"] = weft * to / getattr(material, name)
    return dataclasses.replace(material, **change)  # type: ignore[arg-type]
