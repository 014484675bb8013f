"""The tables of the papers as data."""

import dataclasses

FUHRMANN_2003 = (
    "A. Fuhrmann, G. Sobottka and C. Gross, Distance Fields for Rapid Collision Detection in Physically Based "
    "Modeling, 2003"
)
PELECHANO = "N. Pelechano, L. Bull and M. Slater, Fast Collision Detection Between Cloth and a Deformable Human Body"
NEAL_2003 = "K. Neal, Collision Approximation for Real-Time Cloth Simulation, 2003"

JUNG_2005 = (
    "S. Jung, M. Hong and M. Choi, An Adaptive Collision Detection and Resolution for Deformable Objects Using "
    "Spherical Implicit Surface, 2005, section 5"
)

TESCHNER_2005 = (
    "M. Teschner, S. Kimmerle, B. Heidelberger, G. Zachmann, L. Raghupathi, A. Fuhrmann, M.-P. Cani, F. Faure, "
    "N. Magnenat-Thalmann, W. Strasser and P. Volino, Collision Detection for Deformable Objects, 2005"
)


@dataclasses.dataclass(frozen=True)
class Baked:
    """One row of the table: grid, seconds, and number of point-triangle distances."""

    model: str
    triangles: int
    grid: tuple[int, int, int]
    seconds: float
    examined: int

    @property
    def longest(self) -> int:
        return max(self.grid)


def _lines(model: str, triangles: int, *lines: tuple[tuple[int, int, int], float, int]) -> list[Baked]:
    return [Baked(model, triangles, *line) for line in lines]


# Pentium IV, 1.8 GHz; the last three models on 2.2 GHz
TABLE_1 = (
    *_lines("Skull", 60_339, ((252, 363, 281), 5.177, 22_775_185), ((347, 500, 388), 7.468, 41_802_953)),
    *_lines("Vampire", 127_656, ((290, 289, 401), 3.155, 13_384_822), ((434, 432, 600), 4.626, 22_769_128)),
    *_lines("Greta", 36_236, ((376, 85, 401), 1.472, 6_240_152), ((755, 167, 804), 3.703, 17_736_887)),
    *_lines(
        "Spaceship",
        90_800,
        ((157, 400, 75), 3.825, 16_318_608),
        ((196, 500, 92), 5.017, 21_377_069),
        ((234, 600, 110), 6.469, 27_288_247),
        ((273, 700, 128), 8.112, 34_271_815),
        ((311, 800, 146), 9.874, 41_905_391),
    ),
    *_lines("Skeleton", 87_878, ((78, 64, 400), 1.893, 8_583_692), ((153, 124, 800), 3.157, 17_982_883)),
    *_lines("Bunny", 69_451, ((200, 156, 199), 2.203, 9_274_604), ((400, 311, 397), 4.597, 19_065_462)),
    *_lines("Dragon", 871_414, ((400, 182, 284), 13.876, 79_220_231), ((600, 271, 425), 17.985, 99_091_981)),
    *_lines("Buddha", 1_087_716, ((167, 167, 400), 14.860, 86_503_240), ((249, 250, 600), 18.656, 104_837_218)),
    *_lines("Turbine", 1_765_388, ((238, 186, 400), 23.110, 132_638_147), ((356, 278, 600), 29.532, 164_197_880)),
)

# Pelechano, Bull and Slater, section 5; 800 MHz
PELECHANO_SIZE = {"avatar vertices": 1290, "triangles": 2576, "cloth vertices": 264}
PELECHANO_CULLED = 0.98  # share of the triangles that are not tested
PELECHANO_KEPT = {"detection": 0.63, "response": 0.35, "brute": 0.002}  # of the frame rate without

# Jung, Hong and Choi, section 5, least and greatest seconds per iteration; Pentium 4, 2.4 GHz
JUNG_CUBIC, JUNG_SPHERES = (0.3, 1.8), (0.015, 0.5)
JUNG_SAID = (20, 200)  # times faster
