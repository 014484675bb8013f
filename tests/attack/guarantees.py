"""The attacked guarantees; each has a module of the same name."""

# guarantee: share of the time, time limit of a case in seconds
GUARANTEES = {
    "detect": (4.0, 20.0),
    "sides": (3.0, 30.0),
    "fields": (1.5, 30.0),
    "safe": (6.0, 60.0),
    "crossings": (2.0, 20.0),
    "gradients": (2.0, 30.0),
    "drapes": (1.0, 60.0),
    "tets": (0.5, 20.0),
    "steps": (2.0, 30.0),
    "temporal": (6.0, 20.0),
    "restart": (2.0, 60.0),
    "threads": (2.0, 60.0),
    "audit": (2.0, 60.0),
    "pairings": (4.0, 120.0),
}
