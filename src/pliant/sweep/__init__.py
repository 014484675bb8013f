"""Many drapes, checks or bakes over garments, bodies and parameters; on this machine's processes, or on a cluster."""
