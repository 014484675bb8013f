"""Recall against exact contacts, measured per contact and per contact region."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....contacts import Contacts

Rows = NDArray[np.int64]


class Recall(NamedTuple):
    contacts: float  # share of the exact contacts that were found; 1 where there are none
    regions: float  # share of the regions in which at least one contact was found
    n_contacts: int
    n_regions: int
    extra: int  # false positives: contacts that are not among the exact ones


def regions_of(contacts: Contacts) -> Rows:
    """(n,) region index of each contact; a region is a connected component of contacts that share vertices."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, vertices = np.nonzero(contacts["vertices"] >= 0)
    names, ends = np.unique(contacts["vertices"][rows, vertices], return_inverse=True)
    n = len(contacts)
    graph = coo_array((np.ones(len(rows), np.int8), (rows, n + ends)), shape=(n + len(names),) * 2)
    _, first, label = np.unique(
        connected_components(graph, directed=False)[1][:n], return_index=True, return_inverse=True
    )
    # numbered in the order of the contacts
    return np.argsort(np.argsort(first))[label]


def measured_recall(found: Contacts, exact: Contacts) -> Recall:
    """Compute which share of `exact` is in `found`; contacts are identified by their features."""
    got = np.isin(_keys(exact), _keys(found))
    regions = regions_of(exact)
    n = int(regions.max(initial=-1)) + 1
    hit = np.bincount(regions, got, n) > 0 if n else np.zeros(0, np.bool_)
    extra = int((~np.isin(_keys(found), _keys(exact))).sum())
    share = float(got.mean()) if len(exact) else 1.0
    return Recall(share, float(hit.mean()) if n else 1.0, len(exact), n, extra)


def _keys(contacts: Contacts) -> NDArray[np.void]:
    """(n,) kind, bodies and elements as one value each."""
    columns = [contacts["kind"][:, None], contacts["bodies"], contacts["elements"]]
    rows = np.ascontiguousarray(np.concatenate([np.asarray(c, np.int32) for c in columns], 1))
    return rows.view(np.dtype((np.void, 4 * rows.shape[1]))).ravel()
