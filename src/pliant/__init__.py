"""pliant: collision detection and response for things that bend."""
