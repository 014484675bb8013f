"""The data structures of the built-in detectors as shapes, for the overlay of `pliant play`; imported on first use."""
