"""Distance fields and height fields: baking, storage, sampling, comparison."""
