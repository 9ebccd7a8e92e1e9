"""Sums over decisions whose variables stand in columns: block by block, none of them stored.

Bare arrays, no policy; the blocks and the order of sums are those of `_kernels`.
"""

import math

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from penchant.softmax._kernels import CHUNK, bare
from penchant.softmax._lanes import LANES, block_moments


@intrinsic
def _number_at(typingctx, address, row):
    """The number of a row of the column that begins at this address."""

    def build(context, builder, signature, arguments):
        column = builder.inttoptr(arguments[0], ir.DoubleType().as_pointer())
        return builder.load(builder.gep(column, [arguments[1]]))

    return types.float64(types.int64, types.int64), build


@bare
def sum_columns(columns, table, order, rows, kind, theta, limits, places, rooms, moments):
    """Log-likelihood, minus the gradient, and information (lower triangle) of decisions `order`.

    columns : addresses of the variables' columns, and of that of the offset if there is one
    table : first row of decisions, their chosen options, their weights (empty: 1 each)
    rows : rows of each block of eight decisions, see `likelihood.block_rows`
    limits : what a difference is small beside, one for each variable; or empty
    places : arrays for what stands in between: rows and lanes of a block, of the chosen options,
        weights and numbers of filling rows, the block itself
    rooms : as in `_kernels.sum_blocks`

    Returns the weight of decisions with a difference that is small, and not 0.
    """
    first_row, chosen, weights = table
    sources, references, side, values = places
    scratch, total, parts = rooms
    d, n_columns = kind[2], kind[3]
    small = 0.0
    for j in range(len(moments)):
        moments[j] = 0.0
    n_blocks = len(rows)
    for i in range((n_blocks + CHUNK - 1) // CHUNK):
        last = (i + 1) * CHUNK if (i + 1) * CHUNK < n_blocks else n_blocks
        for j in range(len(total)):
            total[j] = 0.0
        for b in range(i * CHUNK, last):
            n_rows = rows[b]
            for lane in range(LANES):
                j = b * LANES + lane
                inside = j < len(order)
                k = order[j] if inside else order[b * LANES]
                c = first_row[k] + chosen[k]
                used = first_row[k + 1] - first_row[k] - 1 if inside else 0
                references[lane] = c
                side[0, lane] = 0.0
                if inside:
                    side[0, lane] = weights[k] if weights.size else 1.0
                side[0, LANES + lane] = n_rows - used
                for row in range(n_rows):
                    r = first_row[k] + row
                    sources[row, lane] = (r + (r >= c)) if row < used else c
            for a in range(n_columns):
                column = columns[a]
                for row in range(n_rows):
                    place = (row * n_columns + a) * LANES
                    for lane in range(LANES):
                        x = _number_at(column, sources[row, lane])
                        values[place + lane] = x - _number_at(column, references[lane])
            if limits.size:
                small += _weight_of_small(values, n_rows, d, n_columns, limits, side)
            block_moments(kind, values, 0, (n_rows, 1), theta, side, 0, scratch, total)
        for j in range(len(moments)):
            both = 0.0
            for lane in range(LANES):
                both += total[j * LANES + lane]
            parts[i, j] = both
            moments[j] += both
    return small


@bare
def _weight_of_small(values, n_rows, d, n_columns, limits, side):
    """Weight of a block's decisions in which some variable differs, by its limit at most."""
    found = 0.0
    for lane in range(LANES):
        for row in range(n_rows):
            hardly = False
            for a in range(d):
                away = math.fabs(values[(row * n_columns + a) * LANES + lane])
                hardly = hardly or (away > 0.0 and away <= limits[a])
            if hardly:
                found += side[0, lane]
                break
    return found
