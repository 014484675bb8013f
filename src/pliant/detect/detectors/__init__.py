"""The detection methods: one module or subpackage per name in METHODS, and detectors that combine others."""
