"""The implicit parts of a life-size person facing +z, metres.

Head, neck and chest are in the frame of the head, whose origin lies between the ears. The rest stands on y = 0.
"""

from .implicit import Part, ellipsoid, limb, slab

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
    limb((0.002, -0.0745, 0.0838), (0.019, -0.0712, 0.0795), 0.0048, 0.0026, blend=0.007, mirror=True),
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

STANDING = 1.636  # height of the head's origin above the mannequin's floor

TORSO: tuple[Part, ...] = (
    limb((0.020, 1.485, -0.050), (0.140, 1.425, -0.042), 0.040, 0.032, blend=0.06, mirror=True),
    # ribs, shoulders, collar bones, breast
    ellipsoid((0, 1.285, -0.022), (0.150, 0.180, 0.104), blend=0.06),
    ellipsoid((0.090, 1.310, -0.050), (0.070, 0.110, 0.060), turn=(0, 0, -14), blend=0.05, mirror=True),
    ellipsoid((0.158, 1.398, -0.034), (0.052, 0.052, 0.050), blend=0.05, mirror=True),
    limb((0.020, 1.436, 0.022), (0.140, 1.436, -0.014), 0.009, 0.008, blend=0.04, mirror=True),
    ellipsoid((0.068, 1.325, 0.040), (0.074, 0.058, 0.036), turn=(0, 14, 10), blend=0.06, mirror=True),
    # waist, belly, hips, seat
    limb((0, 1.200, -0.018), (0, 1.000, -0.016), 0.104, 0.116, stretch=(1.12, 1.0, 0.82), blend=0.07),
    ellipsoid((0, 0.930, -0.016), (0.160, 0.105, 0.106), blend=0.06),
    ellipsoid((0.070, 0.885, -0.068), (0.072, 0.080, 0.058), blend=0.05, mirror=True),
)

LEGS: tuple[Part, ...] = (
    limb((0.092, 0.880, -0.018), (0.130, 0.500, -0.002), 0.081, 0.050, blend=0.05, mirror=True),
    ellipsoid((0.116, 0.690, 0.014), (0.058, 0.150, 0.056), turn=(0, 0, 5), blend=0.04, mirror=True),
    ellipsoid((0.132, 0.500, 0.014), (0.036, 0.046, 0.036), blend=0.05, mirror=True),
    limb((0.131, 0.480, -0.006), (0.160, 0.085, -0.034), 0.045, 0.032, blend=0.05, mirror=True),
    ellipsoid((0.140, 0.360, -0.034), (0.044, 0.115, 0.042), turn=(4, 0, 4), blend=0.05, mirror=True),
    # foot: heel, instep, ball, toes; the soles are cut flat last
    limb((0.160, 0.085, -0.038), (0.160, 0.022, -0.048), 0.032, 0.033, blend=0.04, mirror=True),
    limb((0.161, 0.072, -0.024), (0.170, 0.026, 0.090), 0.036, 0.026, stretch=(1.05, 1, 1), blend=0.04, mirror=True),
    limb((0.160, 0.010, -0.040), (0.176, 0.010, 0.088), 0.030, 0.030, stretch=(1.10, 0.8, 1), blend=0.03, mirror=True),
    limb((0.166, 0.010, 0.116), (0.188, 0.009, 0.106), 0.025, 0.022, blend=0.03, mirror=True),
)

ARMS: tuple[Part, ...] = (
    limb((0.170, 1.396, -0.034), (0.352, 1.176, -0.036), 0.046, 0.037, blend=0.05, mirror=True),
    ellipsoid((0.250, 1.300, -0.028), (0.042, 0.100, 0.044), turn=(0, 0, 40), blend=0.04, mirror=True),
    limb((0.352, 1.176, -0.036), (0.525, 0.998, -0.016), 0.036, 0.024, blend=0.04, mirror=True),
    ellipsoid((0.408, 1.119, -0.030), (0.036, 0.085, 0.040), turn=(0, 0, 44), blend=0.04, mirror=True),
)

# flat hands, the thumb forward
PALMS: tuple[Part, ...] = (
    limb(
        (0.530, 0.993, -0.015),
        (0.578, 0.942, -0.006),
        0.0245,
        0.0285,
        stretch=(0.75, 1, 1.3),
        turn=(0, 0, 44),
        blend=0.03,
        mirror=True,
    ),
    limb(
        (0.585, 0.934, -0.005),
        (0.640, 0.868, 0.000),
        0.0225,
        0.0185,
        stretch=(0.84, 1, 1.36),
        turn=(0, 0, 41),
        blend=0.03,
        mirror=True,
    ),
)
THUMBS: tuple[Part, ...] = (
    limb((0.548, 0.974, 0.012), (0.580, 0.932, 0.049), 0.0175, 0.0145, blend=0.025, mirror=True),
)

FLOOR: tuple[Part, ...] = (slab(-1.0, 0.0, blend=0.014),)
