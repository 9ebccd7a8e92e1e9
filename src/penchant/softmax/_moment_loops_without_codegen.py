"""Plain twin of the code that `_moment_codegen` makes: the same sums, as loops for numba.

It takes the place of the generated code where that cannot be made, and is what tests compare it
with. One function for a number of variables, called by its address with pointers, as there.
"""

import math
from typing import Any

from numba import types

from penchant._numba_cache import njit

LANES = 8  # decisions of a block, as in the generated code
MIN_EXP_ARGUMENT = -708.0  # exp of less is subnormal or 0, which would leave no information

_NUMBERS, _PLACES = types.CPointer(types.float64), types.CPointer(types.int64)
MOMENTS_SIGNATURE = types.void(
    _NUMBERS, types.int64, types.int64, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS
)
ROWS_SIGNATURE = types.void(_NUMBERS, _PLACES, types.int64, _PLACES, _NUMBERS, _NUMBERS)
called_by_address = njit(
    cache=True, nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True
)
_inner = njit(
    nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True
)


def make_block_moments(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """Compile `add_block_moments` for a number of variables, given as the length of a tuple."""
    d, n_columns = len(variables), len(variables) + len(offset)

    @called_by_address
    def moments(values, n_rows, n_blocks, theta, side, scratch, total):
        for b in range(n_blocks):
            for lane in range(LANES):
                first = b * n_rows * n_columns * LANES + lane
                weight, n_padding = side[b * 2 * LANES + lane], side[(b * 2 + 1) * LANES + lane]
                given = first, n_rows - int(n_padding), weight
                _add_decision_moments(values, given, (d, n_columns), theta, scratch, total, lane)

    return moments


@_inner
def _add_decision_moments(values, given, sizes, theta, scratch, total, lane):
    """Add the moments of one decision to its lane of the total.

    With q = theta'x of an option relative to the chosen one, p its probability and w the weight of
    the decision: -w log sum exp q, the sums of w p x_a and of w p (x_a - mean_a)(x_c - mean_c).
    """
    first, n_rows, weight = given
    d, n_columns = sizes
    top = 0.0
    for r in range(n_rows):
        q = 0.0
        for a in range(n_columns):
            q += theta[a] * values[first + (r * n_columns + a) * LANES]
        scratch[r] = q
        if not q <= top:  # NaN stays
            top = q
    chosen = math.exp(max(-top, MIN_EXP_ARGUMENT))
    mass = chosen
    for r in range(n_rows):
        scratch[r] = math.exp(max(scratch[r] - top, MIN_EXP_ARGUMENT))
        mass += scratch[r]
    total[lane] -= weight * (math.log(mass) + top)
    for a in range(d):
        mean = 0.0
        for r in range(n_rows):
            mean += scratch[r] / mass * values[first + (r * n_columns + a) * LANES]
        scratch[n_rows + a] = mean
        total[(1 + a) * LANES + lane] += weight * mean
    for a in range(d):
        for c in range(a + 1):
            # the chosen option's own variables are 0
            both = chosen / mass * scratch[n_rows + a] * scratch[n_rows + c]
            for r in range(n_rows):
                place = first + r * n_columns * LANES
                away = values[place + a * LANES] - scratch[n_rows + a]
                both += scratch[r] / mass * away * (values[place + c * LANES] - scratch[n_rows + c])
            total[(1 + d + a * (a + 1) // 2 + c) * LANES + lane] += weight * both


def make_relative_rows(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """Compile `write_rows_relative_to_chosen` for as many variables as the tuple is long."""
    d, n_columns = len(variables), len(variables) + len(offset)

    @called_by_address
    def rows(table, sources, n_rows, references, values, size):
        for a in range(d):
            for lane in range(LANES):
                near, slot = table[references[lane] + a], a * LANES + lane
                size[slot] = max(size[slot], abs(near))
                for r in range(n_rows):
                    x = table[sources[r * LANES + lane] + a]
                    values[(r * n_columns + a) * LANES + lane] = x - near
                    size[slot] = max(size[slot], abs(x))
                    size[d * LANES + slot] = max(size[d * LANES + slot], abs(x - near))

    return rows
