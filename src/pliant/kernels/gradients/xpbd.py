"""A sweep of XPBD over cloth that records what its adjoint needs, and the adjoint.

The record of an element is the displacement by which it was projected. With it, the adjoint restores the positions
before each element on its way back, and needs neither these positions nor a second sweep.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..dynamics.cloth import LAST, TINY, columns, moved_by, solve3, strain_pushes, unit_columns, weigh4
from ..dynamics.triangle_batches import BATCH, set_three, three
from ..jit import kernel

ROWS = 31  # of a batch of triangles (`strains_adjoint`)


class Record(NamedTuple):
    """The displacements of the elements in a sweep, in their order."""

    strain: np.ndarray  # (m,6) of the columns along warp and weft, per inverse mass
    bend: np.ndarray  # (h,3)


class SweepAdjoint(NamedTuple):
    """Derivatives with respect to positions after a sweep, which become those before it, and to all constants, to which
    those of each sweep are added."""

    x: np.ndarray  # (n,3)
    w: np.ndarray  # (n,)
    rest: np.ndarray  # (m,4) as Membrane.rest
    compliance: np.ndarray  # (m,3)
    weights: np.ndarray  # (h,4) as Hinges.weights
    curvature: np.ndarray  # (h,) as Hinges.rest
    bend: np.ndarray  # (h,) as Hinges.compliance


@kernel
def sweep(m, h, x, w, dt, record):
    """As `relax_serial`, bitwise, with a record."""
    per_dt2 = 1.0 / (dt * dt)
    for e in range(len(m.faces)):
        i, j, k = m.faces[e, 0], m.faces[e, 1], m.faces[e, 2]
        r = (m.rest[e, 0], m.rest[e, 1], m.rest[e, 2], m.rest[e, 3])
        soft = (m.compliance[e, 0] * per_dt2, m.compliance[e, 1] * per_dt2, m.compliance[e, 2] * per_dt2)
        a, b, c, masses = vec.load(x, i), vec.load(x, j), vec.load(x, k), (w[i], w[j], w[k])
        p, q = strain_pushes(a, b, c, masses, r, soft)
        a, b, c = moved_by(a, b, c, masses, r, p, q)
        vec.store(x, i, a)
        vec.store(x, j, b)
        vec.store(x, k, c)
        for d in range(3):
            record.strain[e, d], record.strain[e, 3 + d] = p[d], q[d]
    for e in range(len(h.vertices)):
        i, j, k, o = h.vertices[e, 0], h.vertices[e, 1], h.vertices[e, 2], h.vertices[e, 3]
        g = (h.weights[e, 0], h.weights[e, 1], h.weights[e, 2], h.weights[e, 3])
        a, b, c, d = vec.load(x, i), vec.load(x, j), vec.load(x, k), vec.load(x, o)
        w_a, w_b, w_c, w_d = w[i] * g[0], w[j] * g[1], w[k] * g[2], w[o] * g[3]
        total = w_a * g[0] + w_b * g[1] + w_c * g[2] + w_d * g[3]
        push = weigh4(a, b, c, d, g)
        if h.rest[e] > 0.0:
            push = vec.scale(push, 1.0 - h.rest[e] / max(vec.norm(push), TINY))
        push = vec.scale(push, -1.0 / (total + h.compliance[e] * per_dt2))
        vec.store(x, i, vec.madd(a, push, w_a))
        vec.store(x, j, vec.madd(b, push, w_b))
        vec.store(x, k, vec.madd(c, push, w_c))
        vec.store(x, o, vec.madd(d, push, w_d))
        vec.store(record.bend, e, push)


@kernel
def sweep_adjoint(m, h, x, w, dt, record, out):
    """Restore x (n,3), the positions after a sweep, to those before it, and do the same with the derivatives `out`."""
    hinges_adjoint(h, x, w, dt, record.bend, out)
    triangles_adjoint(m, x, w, dt, record.strain, out)


@kernel
def hinges_adjoint(h, x, w, dt, record, out):
    per_dt2 = 1.0 / (dt * dt)
    for e in range(len(h.vertices) - 1, -1, -1):
        i, j, k, o = h.vertices[e, 0], h.vertices[e, 1], h.vertices[e, 2], h.vertices[e, 3]
        g, push = (h.weights[e, 0], h.weights[e, 1], h.weights[e, 2], h.weights[e, 3]), vec.load(record, e)
        d = (w[i] * g[0], w[j] * g[1], w[k] * g[2], w[o] * g[3])
        a, b = vec.madd(vec.load(x, i), push, -d[0]), vec.madd(vec.load(x, j), push, -d[1])
        c, f = vec.madd(vec.load(x, k), push, -d[2]), vec.madd(vec.load(x, o), push, -d[3])
        vec.store(x, i, a)
        vec.store(x, j, b)
        vec.store(x, k, c)
        vec.store(x, o, f)
        of_a, of_b, of_c, of_f = vec.load(out.x, i), vec.load(out.x, j), vec.load(out.x, k), vec.load(out.x, o)
        per_total = 1.0 / (d[0] * g[0] + d[1] * g[1] + d[2] * g[2] + d[3] * g[3] + h.compliance[e] * per_dt2)
        of_push = weigh4(of_a, of_b, of_c, of_f, d)
        of_total = -vec.dot(of_push, push) * per_total
        out.bend[e] += of_total * per_dt2
        # derivatives with respect to the products of inverse mass and weight
        s = (vec.dot(push, of_a), vec.dot(push, of_b), vec.dot(push, of_c), vec.dot(push, of_f))
        of_bent = vec.scale(of_push, -per_total)
        bent = weigh4(a, b, c, f, g)
        if h.rest[e] > 0.0:
            per = 1.0 / max(vec.norm(bent), TINY)
            along = vec.dot(bent, of_bent) * per
            out.curvature[e] -= along
            share = h.rest[e] * per
            of_bent = vec.madd(vec.scale(of_bent, 1.0 - share), bent, share * along * per)
        out.w[i] += g[0] * (s[0] + of_total * g[0])
        out.w[j] += g[1] * (s[1] + of_total * g[1])
        out.w[k] += g[2] * (s[2] + of_total * g[2])
        out.w[o] += g[3] * (s[3] + of_total * g[3])
        out.weights[e, 0] += w[i] * s[0] + 2.0 * of_total * d[0] + vec.dot(of_bent, a)
        out.weights[e, 1] += w[j] * s[1] + 2.0 * of_total * d[1] + vec.dot(of_bent, b)
        out.weights[e, 2] += w[k] * s[2] + 2.0 * of_total * d[2] + vec.dot(of_bent, c)
        out.weights[e, 3] += w[o] * s[3] + 2.0 * of_total * d[3] + vec.dot(of_bent, f)
        vec.store(out.x, i, vec.madd(of_a, of_bent, g[0]))
        vec.store(out.x, j, vec.madd(of_b, of_bent, g[1]))
        vec.store(out.x, k, vec.madd(of_c, of_bent, g[2]))
        vec.store(out.x, o, vec.madd(of_f, of_bent, g[3]))


@kernel
def triangles_adjoint(m, x, w, dt, record, out):
    """Triangles of one colour share no vertex, so that their order does not matter; those that found no colour are
    taken one by one."""
    batch, colours = np.ones(ROWS * BATCH), min(len(m.start) - 1, LAST)
    for e in range(len(m.faces) - 1, m.start[colours] - 1, -1):
        batch_adjoint(m, (e, e + 1), x, w, dt, record, out, batch)
    for c in range(colours - 1, -1, -1):
        for e in range(m.start[c], m.start[c + 1], BATCH):
            batch_adjoint(m, (e, min(e + BATCH, m.start[c + 1])), x, w, dt, record, out, batch)


@kernel
def batch_adjoint(m, which, x, w, dt, record, out, batch):
    """Restore the corners of triangles which[0]..which[1]-1, at most BATCH, and do the same with their derivatives."""
    first, last = which
    per_dt2 = 1.0 / (dt * dt)
    for e in range(first, last):
        i, j, k = m.faces[e, 0], m.faces[e, 1], m.faces[e, 2]
        r = (m.rest[e, 0], m.rest[e, 1], m.rest[e, 2], m.rest[e, 3])
        p, q = (record[e, 0], record[e, 1], record[e, 2]), (record[e, 3], record[e, 4], record[e, 5])
        a, b, c = moved_by(vec.load(x, i), vec.load(x, j), vec.load(x, k), (-w[i], -w[j], -w[k]), r, p, q)
        vec.store(x, i, a)
        vec.store(x, j, b)
        vec.store(x, k, c)
        at = e - first
        set_three(batch, 0, at, vec.sub(b, a))
        set_three(batch, 3, at, vec.sub(c, a))
        set_three(batch, 6, at, vec.load(out.x, i))
        set_three(batch, 9, at, vec.load(out.x, j))
        set_three(batch, 12, at, vec.load(out.x, k))
        set_three(batch, 15, at, p)
        set_three(batch, 18, at, q)
        set_three(batch, 21, at, (w[i], w[j], w[k]))
        for d in range(3):
            batch[(24 + d) * BATCH + at] = m.compliance[e, d] * per_dt2
        for d in range(4):
            batch[(27 + d) * BATCH + at] = r[d]
    strains_adjoint(batch)
    for e in range(first, last):
        at = e - first
        i, j, k = m.faces[e, 0], m.faces[e, 1], m.faces[e, 2]
        vec.store(out.x, i, three(batch, 0, at))
        vec.store(out.x, j, three(batch, 3, at))
        vec.store(out.x, k, three(batch, 6, at))
        out.w[i] += batch[9 * BATCH + at]
        out.w[j] += batch[10 * BATCH + at]
        out.w[k] += batch[11 * BATCH + at]
        for d in range(3):
            out.compliance[e, d] += batch[(12 + d) * BATCH + at] * per_dt2
        for d in range(4):
            out.rest[e, d] += batch[(15 + d) * BATCH + at]


@kernel
def strains_adjoint(batch):
    """`strain_adjoint` of a batch. Its rows are edges from the first corner (0..5), derivatives (6..14), displacements
    (15..20), inverse masses (21..23), compliances (24..26) and rest shape (27..30); afterwards the derivatives with
    respect to the corners (0..8), inverse masses (9..11), compliances (12..14) and rest shape (15..18)."""
    for k in range(BATCH):
        given = (three(batch, 6, k), three(batch, 9, k), three(batch, 12, k))
        pushes, w = (three(batch, 15, k), three(batch, 18, k)), three(batch, 21, k)
        r = (batch[27 * BATCH + k], batch[28 * BATCH + k], batch[29 * BATCH + k], batch[30 * BATCH + k])
        edges = (three(batch, 0, k), three(batch, 3, k))
        of_e, of_f, of_w, of_r, of_soft = strain_adjoint(edges, w, r, three(batch, 24, k), pushes, given)
        set_three(batch, 0, k, vec.sub(given[0], vec.add(of_e, of_f)))
        set_three(batch, 3, k, vec.add(given[1], of_e))
        set_three(batch, 6, k, vec.add(given[2], of_f))
        set_three(batch, 9, k, of_w)
        set_three(batch, 12, k, of_soft)
        set_three(batch, 15, k, (of_r[0], of_r[1], of_r[2]))
        batch[18 * BATCH + k] = of_r[3]


@kernel(inline=True)
def strain_adjoint(edges, w, r, soft, pushes, given):
    """Derivatives of a triangle's projection (`strain_pushes`, `moved_by`), given those with respect to its corners
    afterwards: with respect to the `edges` from the first corner, to w, r and soft.

    Names that begin with of_ are derivatives with respect to what follows.
    """
    e, f = edges
    u, v = columns((0.0, 0.0, 0.0), e, f, r)
    n_u, n_v, per_u, per_v, u, v = unit_columns(u, v)
    s = vec.dot(u, v)
    k = 1.0 - s * s
    i_u, i_v = min(per_u, 10.0), min(per_v, 10.0)
    o, t = r[0] + r[1], r[2] + r[3]
    p_sum = w[0] * o * o + w[1] * r[0] * r[0] + w[2] * r[1] * r[1]
    q_sum = w[0] * o * t + w[1] * r[0] * r[2] + w[2] * r[1] * r[3]
    r_sum = w[0] * t * t + w[1] * r[2] * r[2] + w[2] * r[3] * r[3]
    g = p_sum * i_u * i_u - 2.0 * q_sum * s * i_u * i_v + r_sum * i_v * i_v
    diagonal = (p_sum + soft[0], r_sum + soft[1], k * g + soft[2])
    beside = (q_sum * s, q_sum * k * i_v, q_sum * k * i_u)
    x, y, z = solve3(diagonal, beside, (1.0 - n_u, 1.0 - n_v, -s))
    # of the corners
    along_u, along_v = pushes
    of_a, of_b, of_c = given
    a_u, a_v, b_u, b_v, c_u, c_v = (
        vec.dot(of_a, along_u),
        vec.dot(of_a, along_v),
        vec.dot(of_b, along_u),
        vec.dot(of_b, along_v),
        vec.dot(of_c, along_u),
        vec.dot(of_c, along_v),
    )
    of_along_u = vec.madd(vec.madd(vec.scale(of_a, -w[0] * o), of_b, w[1] * r[0]), of_c, w[2] * r[1])
    of_along_v = vec.madd(vec.madd(vec.scale(of_a, -w[0] * t), of_b, w[1] * r[2]), of_c, w[2] * r[3])
    of_w_0, of_w_1, of_w_2 = -(o * a_u + t * a_v), r[0] * b_u + r[2] * b_v, r[1] * c_u + r[3] * c_v
    of_o, of_t = -w[0] * a_u, -w[0] * a_v
    of_r_0, of_r_1, of_r_2, of_r_3 = w[1] * b_u, w[2] * c_u, w[1] * b_v, w[2] * c_v
    # of the displacements: along_u = u (x - z s i_u) + v z i_u, along_v = v (y - z s i_v) + u z i_v
    u_u, u_v = vec.dot(of_along_u, u), vec.dot(of_along_u, v)
    v_v, v_u = vec.dot(of_along_v, v), vec.dot(of_along_v, u)
    of_u = vec.madd(vec.scale(of_along_u, x - z * s * i_u), of_along_v, z * i_v)
    of_v = vec.madd(vec.scale(of_along_v, y - z * s * i_v), of_along_u, z * i_u)
    of_z = i_u * (u_v - u_u * s) + i_v * (v_u - v_v * s)
    of_s = -z * (u_u * i_u + v_v * i_v)
    of_i_u, of_i_v = z * (u_v - u_u * s), z * (v_u - v_v * s)
    # of the system: its solution is linear in the right-hand side, and the matrix is symmetric
    m_x, m_y, m_z = solve3(diagonal, beside, (u_u, v_v, of_z))
    of_11, of_22, of_33 = -m_x * x, -m_y * y, -m_z * z
    of_12, of_13, of_23 = -(m_x * y + m_y * x), -(m_x * z + m_z * x), -(m_y * z + m_z * y)
    of_g = of_33 * k
    of_p = of_11 + of_g * i_u * i_u
    of_q = of_12 * s + k * (of_13 * i_v + of_23 * i_u) - 2.0 * of_g * s * i_u * i_v
    of_r_sum = of_22 + of_g * i_v * i_v
    of_k = q_sum * (of_13 * i_v + of_23 * i_u) + of_33 * g
    of_i_u += of_23 * q_sum * k + 2.0 * of_g * (p_sum * i_u - q_sum * s * i_v)
    of_i_v += of_13 * q_sum * k + 2.0 * of_g * (r_sum * i_v - q_sum * s * i_u)
    of_s += of_12 * q_sum - 2.0 * of_g * q_sum * i_u * i_v - m_z - 2.0 * s * of_k
    # of lengths and directions of the columns
    of_n_u, of_n_v = -m_x, -m_y
    if per_u < 10.0:
        of_n_u -= of_i_u * per_u * per_u
    if per_v < 10.0:
        of_n_v -= of_i_v * per_v * per_v
    of_u, of_v = vec.madd(of_u, v, of_s), vec.madd(of_v, u, of_s)
    of_u = vec.madd(vec.scale(of_u, per_u), u, of_n_u - vec.dot(of_u, u) * per_u)
    of_v = vec.madd(vec.scale(of_v, per_v), v, of_n_v - vec.dot(of_v, v) * per_v)
    # of masses and rest shape
    of_w_0 += of_p * o * o + of_q * o * t + of_r_sum * t * t
    of_w_1 += of_p * r[0] * r[0] + of_q * r[0] * r[2] + of_r_sum * r[2] * r[2]
    of_w_2 += of_p * r[1] * r[1] + of_q * r[1] * r[3] + of_r_sum * r[3] * r[3]
    of_o += w[0] * (2.0 * of_p * o + of_q * t)
    of_t += w[0] * (2.0 * of_r_sum * t + of_q * o)
    of_r_0 += of_o + w[1] * (2.0 * of_p * r[0] + of_q * r[2]) + vec.dot(of_u, e)
    of_r_1 += of_o + w[2] * (2.0 * of_p * r[1] + of_q * r[3]) + vec.dot(of_u, f)
    of_r_2 += of_t + w[1] * (2.0 * of_r_sum * r[2] + of_q * r[0]) + vec.dot(of_v, e)
    of_r_3 += of_t + w[2] * (2.0 * of_r_sum * r[3] + of_q * r[1]) + vec.dot(of_v, f)
    of_e = vec.madd(vec.scale(of_u, r[0]), of_v, r[2])
    of_f = vec.madd(vec.scale(of_u, r[1]), of_v, r[3])
    return of_e, of_f, (of_w_0, of_w_1, of_w_2), (of_r_0, of_r_1, of_r_2, of_r_3), (of_11, of_22, of_33)
