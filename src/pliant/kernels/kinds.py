"""Kinds of contacts, as the field `kind` of a contact record stores them (see `pliant.contacts`), and of candidates."""

VERTEX_FACE, EDGE_EDGE, VERTEX_FIELD, MIDPOINT_FIELD = 0, 1, 2, 3
FIRST, SECOND = 0, 1  # columns of `elements` and `bodies` of a contact record, and of pairs of features

# Candidate pairs of the features of two meshes a and b: a vertex of a and a face of b, two edges, a face of a and a
# vertex of b, stored with the vertex first.
VERTEX_TO_FACE, EDGE_TO_EDGE, FACE_TO_VERTEX = 0, 1, 2
