"""The option `material` of the built-in scenes: a cloth, or its name; for scenes with soft bodies, a solid."""

from typing import Any

from ..mesh import Mesh
from ..scene import Cloth, Solid, Strands


def named(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with a material that is given by name as a Cloth."""
    name = options.get("material")
    return options | {"material": Cloth.named(name)} if isinstance(name, str) else options


def with_own(options: dict[str, Any], **own: float) -> dict[str, Any]:
    """Return the options with the scene's own friction or thickness, unless the options or the material have them."""
    options = named(options)
    stuff = options.get("material")
    return {name: value for name, value in own.items() if getattr(stuff, name, None) is None} | options


def take_cloth(options: dict[str, Any]) -> Cloth:
    """Remove the material from the options and return it; default: Cloth()."""
    stuff = named(options).get("material")
    options.pop("material", None)
    return stuff or Cloth()


def take_material(options: dict[str, Any], mesh: Mesh) -> Cloth | Strands:
    """Remove the material of a cloth from the options and return it; default: Cloth(), or Strands() for a mesh of
    lines. That of the other kind is refused."""
    stuff = named(options).get("material")
    options.pop("material", None)
    wanted = Strands if len(mesh.lines) else Cloth
    if stuff is None or isinstance(stuff, wanted):
        return stuff or wanted()
    kind, advice = ("lines", "a pliant.Strands") if len(mesh.lines) else ("faces", "a pliant.Cloth")
    raise ValueError(f"mesh {mesh.name!r} has {kind}, and a material of {type(stuff).__name__}; give {advice}")


def take_solid(options: dict[str, Any], own: Solid, scene: str) -> Solid:
    """Remove the material from the options and return it; default: the scene's own. A cloth is refused."""
    stuff = options.pop("material", None)
    if stuff is None or isinstance(stuff, Solid):
        return stuff or own
    advice = "leave it out, or give a pliant.Solid in Python"
    raise ValueError(f"a material of cloth is given, but scene {scene!r} has soft bodies of tetrahedra; {advice}")


def take_none(options: dict[str, Any], scene: str) -> None:
    """Refuse a material in a scene without deformable bodies."""
    if options.pop("material", None) is not None:
        raise ValueError(f"a material is given, but scene {scene!r} has no deformable bodies; leave it out")
