"""The detection methods, one module or subpackage each (`stochastic/` holds two), and detectors that combine others."""
