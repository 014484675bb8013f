"""The parts of a person: head, neck, shoulders and chest. Head frame: origin between the ears, y up, face to +z."""

from .implicit import Part, ellipsoid, limb

HEAD: tuple[Part, ...] = (
    # skull, then the wedge of the face below it
    ellipsoid((0, 0.034, -0.014), (0.073, 0.080, 0.093)),
    ellipsoid((0, -0.020, 0.030), (0.058, 0.086, 0.061), blend=0.03),
    limb((0.046, -0.052, 0.002), (0.014, -0.094, 0.058), 0.0145, 0.013, blend=0.035, mirror=True),
    ellipsoid((0, -0.098, 0.068), (0.019, 0.014, 0.015), blend=0.025),
    # cheekbones, brow
    ellipsoid((0.038, -0.024, 0.056), (0.020, 0.014, 0.020), turn=(0, 30, 10), blend=0.035, mirror=True),
    limb((0.012, 0.019, 0.081), (0.046, 0.017, 0.061), 0.007, 0.006, blend=0.022, mirror=True),
    # sockets, eyes with closed lids
    ellipsoid((0.031, -0.001, 0.096), (0.019, 0.010, 0.018), turn=(0, 20, 0), blend=0.018, carve=True, mirror=True),
    ellipsoid((0.031, -0.003, 0.0695), (0.0165, 0.0115, 0.0125), turn=(0, 20, 0), blend=0.005, mirror=True),
    # nose: bridge, tip, wings
    limb((0, 0.014, 0.079), (0, -0.034, 0.103), 0.0070, 0.0080, blend=0.018),
    ellipsoid((0, -0.037, 0.103), (0.0095, 0.0085, 0.0105), blend=0.012),
    ellipsoid((0.0112, -0.0395, 0.0945), (0.0072, 0.0066, 0.0085), blend=0.012, mirror=True),
    # mouth: a low mound, two lips, and the line between them
    ellipsoid((0, -0.067, 0.070), (0.034, 0.018, 0.0155), blend=0.025),
    limb((0.005, -0.0630, 0.0852), (0.023, -0.0680, 0.0785), 0.0044, 0.0022, blend=0.007, mirror=True),
    limb((0.000, -0.0745, 0.0842), (0.018, -0.0710, 0.0795), 0.0054, 0.0024, blend=0.007, mirror=True),
    limb((0.000, -0.0685, 0.0925), (0.025, -0.0692, 0.0850), 0.0020, 0.0016, blend=0.005, mirror=True, carve=True),
    # ears
    ellipsoid((0.071, -0.006, -0.014), (0.0100, 0.0285, 0.0170), turn=(-12, -20, -6), blend=0.014, mirror=True),
    ellipsoid(
        (0.0855, -0.003, -0.008), (0.0075, 0.0170, 0.0090), turn=(-12, -20, -6), blend=0.008, mirror=True, carve=True
    ),
)

NECK: tuple[Part, ...] = (
    limb((0, -0.050, -0.024), (0, -0.190, -0.034), 0.049, 0.054, blend=0.03),
    limb((0.046, -0.045, -0.026), (0.013, -0.188, 0.018), 0.010, 0.009, blend=0.03, mirror=True),
)

CHEST: tuple[Part, ...] = (
    limb((0.02, -0.145, -0.050), (0.140, -0.208, -0.042), 0.040, 0.030, blend=0.06, mirror=True),
    ellipsoid((0, -0.300, -0.026), (0.160, 0.130, 0.098), blend=0.05),
    ellipsoid((0.158, -0.245, -0.034), (0.052, 0.058, 0.054), blend=0.05, mirror=True),
    limb((0.018, -0.198, 0.026), (0.150, -0.194, -0.014), 0.008, 0.007, blend=0.025, mirror=True),
    ellipsoid((0.068, -0.288, 0.038), (0.075, 0.055, 0.035), turn=(0, 12, 10), blend=0.05, mirror=True),
    limb((0.168, -0.240, -0.034), (0.172, -0.420, -0.034), 0.046, 0.042, blend=0.05, mirror=True),
)
