"""The detection methods: one module or subpackage for each name in METHODS."""
