"""Materials of deformable bodies, in SI units: cloth, solids and strands."""

import dataclasses
import math
from typing import Any

from .. import validate
from ..arguments import check_arguments, takes, wrong


@check_arguments
@dataclasses.dataclass(frozen=True)
class Cloth:
    """Cloth material in SI units. The default is a firm, slightly elastic cotton, the same along warp and weft.

    `stretch` and `bend` are those along the warp, and along the weft unless `stretch_weft` and `bend_weft` are given.
    `thickness`, `friction` and `self_friction` apply to scenes that are not given their own. `Cloth.named("silk")` is
    a measured fabric (`pliant.materials.fabrics.MATERIALS`).
    """

    density: float = 0.20  # kg/m2
    stretch: float = 500.0  # N/m: force per metre of width for a strain of 1
    shear: float = 100.0  # N/m: force per metre of width for a shear angle of 1 radian
    bend: float = 2e-4  # N m: moment per metre of width for a curvature of 1/m
    damping: float = 0.01  # m2/s: kinematic viscosity of the internal friction
    air: float = 1.2  # kg/m3: density of the surrounding air; 0 is vacuum
    stretch_weft: float | None = None  # N/m
    bend_weft: float | None = None  # N m
    thickness: float | None = None  # m
    friction: float | None = None  # coefficient of friction against bodies
    self_friction: float | None = None  # coefficient of friction against cloth
    strain_limit: float = 0.05  # beyond this strain the implicit solver shortens edges

    def __post_init__(self) -> None:
        for name in ("density", "stretch", "shear"):
            validate.number(name, getattr(self, name), above=0.0)
        for name in ("bend", "damping", "air", "strain_limit"):
            validate.number(name, getattr(self, name), low=0.0)
        for name in ("stretch_weft", "thickness"):
            if getattr(self, name) is not None:
                validate.number(name, getattr(self, name), above=0.0)
        for name in ("bend_weft", "friction", "self_friction"):
            if getattr(self, name) is not None:
                validate.number(name, getattr(self, name), low=0.0)

    @classmethod
    def named(cls, name: str, **given: float) -> "Cloth":
        """Return the material of this name in `fabrics.MATERIALS`. given: parameters that replace its own."""
        from .fabrics import MATERIALS

        return dataclasses.replace(MATERIALS[validate.choice("material", name, tuple(MATERIALS))].cloth, **given)

    @property
    def stretch_by_direction(self) -> tuple[float, float]:
        """Stretch stiffness along warp and weft, N/m."""
        return self.stretch, self.stretch if self.stretch_weft is None else self.stretch_weft

    @property
    def bend_by_direction(self) -> tuple[float, float]:
        """Bending rigidity along warp and weft, N m."""
        return self.bend, self.bend if self.bend_weft is None else self.bend_weft


@check_arguments
@dataclasses.dataclass(frozen=True)
class Solid:
    """Material of a soft body of tetrahedra in SI units. The default is a soft rubber foam."""

    young: float = 5e4  # Pa: Young's modulus
    poisson: float = 0.4  # Poisson's ratio; 0.5 would be incompressible
    density: float = 400.0  # kg/m3
    damping: float = 0.01  # m2/s: internal friction; viscosity over density

    def __post_init__(self) -> None:
        validate.number("young", self.young, above=0.0)
        if not 0.0 <= validate.number("poisson", self.poisson) < 0.5:
            raise ValueError(f"poisson = {self.poisson:g} must be at least 0 and below 0.5")
        validate.number("density", self.density, above=0.0)
        validate.number("damping", self.damping, low=0.0)

    @property
    def mu(self) -> float:
        """Lame's second parameter, Pa: the shear modulus."""
        return self.young / (2.0 * (1.0 + self.poisson))

    @property
    def lam(self) -> float:
        """Lame's first parameter, Pa."""
        return self.young * self.poisson / ((1.0 + self.poisson) * (1.0 - 2.0 * self.poisson))


@check_arguments
@dataclasses.dataclass(frozen=True)
class Strands:
    """Material of strands (polylines) in SI units: hair, threads, cords. The default is a wisp of some 600 human hairs,
    which slide along each other: their stiffnesses and masses add up.

    `friction` and `self_friction` apply to scenes that are not given their own. Strands resist stretch and bending, not
    twist.
    """

    density: float = 4e-3  # kg/m
    stretch: float = 1000.0  # N: force for a strain of 1, Young's modulus times the area of the section
    bend: float = 5e-6  # N m2: moment for a curvature of 1/m, Young's modulus times the area's second moment
    radius: float = 1.2e-3  # m: of the section, for contact and air drag
    damping: float = 0.01  # m2/s: kinematic viscosity of the internal friction
    air: float = 1.2  # kg/m3: density of the surrounding air; 0 is vacuum
    friction: float | None = None  # coefficient of friction against bodies
    self_friction: float | None = None  # coefficient of friction against strands and cloth

    def __post_init__(self) -> None:
        for name in ("density", "stretch", "radius"):
            validate.number(name, getattr(self, name), above=0.0)
        for name in ("bend", "damping", "air"):
            validate.number(name, getattr(self, name), low=0.0)
        for name in ("friction", "self_friction"):
            if getattr(self, name) is not None:
                validate.number(name, getattr(self, name), low=0.0)

    @check_arguments
    @classmethod
    def fibre(cls, radius: float, young: float, density: float, count: int = 1, **given: float) -> "Strands":
        """Return the material of `count` round fibres side by side, each of `radius` m, with Young's modulus `young`
        (Pa) and `density` (kg/m3), which slide along each other; given: the other parameters."""
        r, e = validate.number("radius", radius, above=0.0), validate.number("young", young, above=0.0)
        n = validate.whole("count", count, low=1)
        area = math.pi * r * r
        return cls(
            density=n * area * validate.number("density", density, above=0.0),
            stretch=n * e * area,
            bend=n * e * area * r * r / 4.0,
            radius=r * math.sqrt(n),
            **given,
        )

    @property
    def thickness(self) -> float:
        """The diameter, m: distance of the centre lines of two strands in contact."""
        return 2.0 * self.radius


@takes(Cloth)
def _named(name: str, value: Any) -> Cloth:
    """Accept the name of a material wherever a Cloth is expected."""
    if isinstance(value, str):
        return Cloth.named(value)
    raise wrong(name, value, "a Cloth", 'pliant.Cloth(...), or the name of a material: "silk"')
