"""Cloth materials by name, in SI units, with the sources of their figures (docs/materials.md).

Quantities of a fabric that no source gives are chosen, and `Fabric.chosen` names them.
"""

import dataclasses

from .material import Cloth

# key -> reference
SOURCES = {
    "Wang 2011": "H. Wang, J. F. O'Brien, R. Ramamoorthi: Data-driven elastic models for cloth: modeling and "
    "measurement. ACM Transactions on Graphics 30(4), 2011, and its database of ten fabrics",
    "FAST report": "Fabric Assurance by Simple Testing, a published student laboratory report on a plain-woven wool; "
    "the method is that of P. G. Minazio, International Journal of Clothing Science and Technology 7(2/3), 1995",
    "JTex 2016": "Regenerated cellulose-based denim fabric for tropical regions. Journal of Textiles, 2016, 4614168, "
    "table 5: six denims by KES-F",
    "Memon 2021": "H. Memon, E. B. Chaklie, H. M. Yesuf, C. Zhu: Study on effect of leather rigidity and thickness on "
    "drapability of sheep garment leather. Materials 14, 2021, 4553",
    "Temel 2022": "M. Temel, A. A. Johnson, A. B. Lloyd: Evaluating the repeatability of friction coefficient "
    "measurements and tactile perceptions in skin-textile interactions across body regions. Tribology Letters 70, 2022",
    "momme": "the momme, the trade unit of silk: 4.3056 g/m2; 8 to 30 momme are usual",
}


@dataclasses.dataclass(frozen=True)
class Fabric:
    """A material by name.

    sample: what was measured. stretch_at: the load or strain at which the stretch stiffness is linearised. sources:
    keys of SOURCES. chosen: quantities without a source, chosen within what is usual for such a fabric.
    """

    cloth: Cloth
    sample: str
    stretch_at: str
    sources: tuple[str, ...]
    chosen: tuple[str, ...]


def _cloth(
    density: float,
    stretch: tuple[float, float],
    shear: float,
    bend: tuple[float, float],
    thickness: float,
    friction: tuple[float, float],
) -> Cloth:
    """A material with these parameters, stretch and bend along warp and weft, friction against bodies and cloth; the
    others have their defaults."""
    weft = {"stretch_weft": stretch[1], "bend_weft": bend[1]}
    surface = {"thickness": thickness, "friction": friction[0], "self_friction": friction[1]}
    return Cloth(density=density, stretch=stretch[0], shear=shear, bend=bend[0], **weft, **surface)


MATERIALS = {
    "cotton": Fabric(
        _cloth(0.220, (2035.0, 2017.0), 52.0, (125e-6, 224e-6), 0.45e-3, (0.40, 0.45)),
        "trouser twill, 65 % cotton, 35 % polyester (Royal Target)",
        "small strain",
        ("Wang 2011", "Temel 2022"),
        ("thickness", "self_friction"),
    ),
    "denim": Fabric(
        _cloth(0.324, (1014.0, 205.0), 27.0, (64e-6, 20e-6), 0.90e-3, (0.50, 0.55)),
        "11 oz stretch denim, 99 % cotton, 1 % spandex (11oz Black Denim)",
        "small strain",
        ("Wang 2011", "JTex 2016"),
        ("friction", "self_friction"),
    ),
    "silk": Fabric(
        _cloth(0.069, (1000.0, 800.0), 15.0, (2.5e-6, 1.5e-6), 0.15e-3, (0.25, 0.30)),
        "a light weave such as crepe de chine, 16 momme",
        "20 N/m",
        ("momme",),
        ("stretch", "shear", "bend", "thickness", "friction", "self_friction"),
    ),
    "wool": Fabric(
        _cloth(0.168, (1050.0, 1050.0), 26.0, (5.6e-6, 5.0e-6), 0.50e-3, (0.45, 0.50)),
        "light plain-woven wool",
        "19.6 N/m (20 gf/cm)",
        ("FAST report",),
        ("thickness", "friction", "self_friction"),
    ),
    "jersey": Fabric(
        _cloth(0.187, (146.0, 26.0), 18.0, (23e-6, 23e-6), 0.70e-3, (0.45, 0.50)),
        "T-shirt interlock knit, 60 % cotton, 40 % polyester (Gray Interlock); wales are the warp",
        "5 % strain",
        ("Wang 2011",),
        ("thickness", "friction", "self_friction"),
    ),
    "leather": Fabric(
        _cloth(0.50, (4000.0, 4000.0), 1500.0, (2.5e-5, 2.5e-5), 0.80e-3, (0.50, 0.60)),
        "sheep garment leather",
        "small strain",
        ("Memon 2021",),
        ("density", "stretch", "shear", "bend", "friction", "self_friction"),
    ),
    "felt": Fabric(
        _cloth(0.30, (3000.0, 3000.0), 1200.0, (2.5e-4, 2.5e-4), 1.50e-3, (0.60, 0.70)),
        "pressed wool felt of 1.5 mm, alike in all directions",
        "small strain",
        (),
        ("density", "stretch", "shear", "bend", "thickness", "friction", "self_friction"),
    ),
}
