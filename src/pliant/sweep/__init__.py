"""Batches of drapes, checks or bakes over garments, bodies and parameters, on local processes or on a cluster."""
