"""The maximum of a likelihood to forty digits, by Newton's method in mpmath."""

from mpmath import mp, mpf


def _differences(x, chosen, offset, available):
    """Rows x_j - x_chosen, and the same of the offsets, of the options not chosen."""
    rows = []
    for j in range(len(x)):
        if j != chosen and (available is None or available[j]):
            z = [mpf(float(a)) - mpf(float(b)) for a, b in zip(x[j], x[chosen], strict=True)]
            o = mpf(0) if offset is None else mpf(float(offset[j])) - mpf(float(offset[chosen]))
            rows.append((z, o))
    return rows


def _moments(sets, weights, theta):
    d = len(theta)
    value, gradient, information = mpf(0), mp.zeros(d, 1), mp.zeros(d, d)
    for rows, weight in zip(sets, weights, strict=True):
        x = [[mpf(0)] * d, *(z for z, _ in rows)]
        q = [mpf(0), *(mp.fdot(theta, z) + o for z, o in rows)]
        top = max(q)
        e = [mp.exp(one - top) if one - top > -4000 else mpf(0) for one in q]
        mass = mp.fsum(e)
        p = [one / mass for one in e]
        value -= weight * (top + mp.log(mass))
        mean = [mp.fdot(p, [z[a] for z in x]) for a in range(d)]
        for a in range(d):
            gradient[a] -= weight * mean[a]
            for c in range(d):
                second = mp.fsum(
                    pi * (z[a] - mean[a]) * (z[c] - mean[c]) for pi, z in zip(p, x, strict=True)
                )
                information[a, c] += weight * second
    return value, gradient, information


def exact_maximum(sets, chosen, *, digits=60, **given):
    """Weights at the maximum, their standard errors, and the log-likelihood, all as mpf.

    Given may be `offset`, `available`, `weights`, a `start` and a `ridge`: a precision of theta
    around 0, one number per weight.
    """
    with mp.workdps(digits):
        return _maximum(sets, chosen, **given)


def _maximum(sets, chosen, offset=None, available=None, weights=None, start=None, ridge=()):
    n, d = len(sets), len(sets[0][0])
    counts = [mpf(1)] * n if weights is None else [mpf(float(w)) for w in weights]
    rows = [
        _differences(
            sets[k],
            int(chosen[k]),
            None if offset is None else offset[k],
            None if available is None else available[k],
        )
        for k in range(n)
    ]
    largest = [max(abs(z[a]) for row in rows for z, _ in row) for a in range(d)]
    pull = mp.diag([mpf(float(c)) for c in ridge]) if ridge else mp.zeros(d, d)
    theta = mp.matrix([mpf(0)] * d if start is None else [mpf(float(t)) for t in start])

    def slope_at(theta):
        value, gradient, information = _moments(rows, counts, list(theta))
        return value, gradient - pull * theta, information + pull

    value, gradient, information = slope_at(theta)
    for _ in range(300):
        unit = mp.diag([1 / mp.sqrt(information[a, a]) for a in range(d)])
        step = unit * mp.lu_solve(unit * information * unit, unit * gradient)
        slope = (gradient.T * step)[0]
        while True:
            value, ahead, information = slope_at(theta + step)
            if (ahead.T * step)[0] >= -slope / 2:
                break
            step, slope = step / 2, slope / 2
        theta, gradient = theta + step, ahead
        if mp.fdot(largest, [abs(s) for s in step]) < mpf(10) ** -20:
            break
    else:
        raise AssertionError("the reference did not reach the maximum")
    inverse = information**-1
    return list(theta), [mp.sqrt(inverse[a, a]) for a in range(d)], value
