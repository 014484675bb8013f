"""What is measured of a run, independent of the methods that produced it."""
