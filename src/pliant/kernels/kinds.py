"""The kinds of contacts, as the field `kind` of a contact record stores them (see `pliant.contacts`)."""

VERTEX_FACE, EDGE_EDGE, VERTEX_FIELD, MIDPOINT_FIELD = 0, 1, 2, 3
