"""Arithmetic on eight decisions at a time, for the compiled loops.

Compilers vectorise the sums of a softmax over many small choice sets badly: the loops over
variables are short, and every partial sum travels through memory. Here the inner loops are
written directly for a vector of eight lanes, one decision in each, so that partial sums stay in
registers on any processor (wider or narrower machine vectors are the code generator's business).

`relative_rows` packs eight decisions, `block_moments` sums them; nothing else is used elsewhere.
Their parts build instructions: they run once, when the kernel is compiled, and `d`, the number of
variables, is then a constant.
"""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

LANES = 8
TILE = 5

_DOUBLE = ir.DoubleType()
_INT = ir.IntType(64)
_LANES = ir.VectorType(_DOUBLE, LANES)
_INTS = ir.VectorType(_INT, LANES)
_FUSED = ("contract",)

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
_SMALLEST = -708.0  # exp below this is as good as 0
_EXP = [1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320, 1 / 362880]
_EXP += [1 / 3628800, 1 / 39916800, 1 / 479001600]
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


class _Emit:
    """Instructions on lanes, written to one builder."""

    def __init__(self, builder):
        self.builder = builder

    def all(self, number):
        return ir.Constant(_LANES, [ir.Constant(_DOUBLE, number)] * LANES)

    def all_ints(self, number):
        return ir.Constant(_INTS, [ir.Constant(_INT, number)] * LANES)

    def spread(self, scalar):
        """One number in every lane."""
        one = self.builder.insert_element(
            ir.Constant(_LANES, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0)
        )
        zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, one, zeros)

    def load(self, pointer, index):
        place = self.builder.gep(pointer, [index])
        value = self.builder.load(self.builder.bitcast(place, _LANES.as_pointer()))
        value.align = 8
        return value

    def store(self, value, pointer, index):
        place = self.builder.gep(pointer, [index])
        self.builder.store(value, self.builder.bitcast(place, _LANES.as_pointer()), align=8)

    def add(self, a, b):
        return self.builder.fadd(a, b, flags=_FUSED)

    def sub(self, a, b):
        return self.builder.fsub(a, b, flags=_FUSED)

    def mul(self, a, b):
        return self.builder.fmul(a, b, flags=_FUSED)

    def fma(self, a, b, c):
        """a * b + c."""
        return self.add(self.mul(a, b), c)

    def max(self, a, b):
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def polynomial(self, coefficients, x):
        """Pairs of terms, then pairs of pairs: a short chain of dependent operations."""
        terms = [self.all(c) for c in coefficients]
        while len(terms) > 1:
            pairs = [
                self.fma(terms[i + 1], x, terms[i]) if i + 1 < len(terms) else terms[i]
                for i in range(0, len(terms), 2)
            ]
            terms, x = pairs, self.mul(x, x) if len(pairs) > 1 else x
        return terms[0]

    def exp(self, x):
        """exp for x <= 0, to about 1 unit in the last place; 3e-308 below the smallest.

        x = k log 2 + r; exp x = 2^k exp r, the power of two added to the exponent bits.
        """
        inside = self.max(x, self.all(_SMALLEST))
        shifted = self.fma(inside, self.all(_LOG2_E), self.all(_ROUND))
        k = self.builder.fsub(shifted, self.all(_ROUND))
        r = self.fma(k, self.all(-_LN2_HIGH), inside)
        r = self.fma(k, self.all(-_LN2_LOW), r)
        bits = self.builder.bitcast(self.polynomial(_EXP, r), _INTS)
        power = self.builder.shl(self.builder.bitcast(shifted, _INTS), self.all_ints(52))
        return self.builder.bitcast(self.builder.add(bits, power), _LANES)

    def log(self, x):
        """log for normal x > 0: x = 2^k m, log m by the series of atanh((m - 1)/(m + 1))."""
        bits = self.builder.bitcast(x, _INTS)
        k = self.builder.ashr(
            self.builder.sub(bits, self.all_ints(_SQRT_HALF_BITS)), self.all_ints(52)
        )
        m = self.builder.bitcast(
            self.builder.sub(bits, self.builder.shl(k, self.all_ints(52))), _LANES
        )
        f = self.builder.fdiv(self.sub(m, self.all(1.0)), self.add(m, self.all(1.0)))
        square = self.mul(f, f)
        tail = self.polynomial([2.0 / (2 * j + 3) for j in range(10)], square)
        exponent = self.builder.sitofp(k, _LANES)
        small = self.fma(exponent, self.all(_LN2_LOW), self.mul(self.mul(f, square), tail))
        log_m = self.add(self.add(f, f), small)
        return self.fma(exponent, self.all(_LN2_HIGH), log_m)

    def over_rows(self, n_rows, body, starts):
        """Loop over rows, carrying a list of lanes; returns their last values."""
        before = self.builder.block
        head = self.builder.append_basic_block("rows")
        after = self.builder.append_basic_block("rows.end")
        empty = self.builder.icmp_signed("<=", n_rows, ir.Constant(_INT, 0))
        self.builder.cbranch(empty, after, head)
        self.builder.position_at_end(head)
        row = self.builder.phi(_INT)
        carried = [self.builder.phi(_LANES) for _ in starts]
        ends = body(row, carried)
        tail = self.builder.block
        following = self.builder.add(row, ir.Constant(_INT, 1))
        row.add_incoming(ir.Constant(_INT, 0), before)
        row.add_incoming(following, tail)
        for phi, start, end in zip(carried, starts, ends, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(end, tail)
        self.builder.cbranch(self.builder.icmp_signed("<", following, n_rows), head, after)
        self.builder.position_at_end(after)
        results = []
        for start, end in zip(starts, ends, strict=True):
            phi = self.builder.phi(_LANES)
            phi.add_incoming(start, before)
            phi.add_incoming(end, tail)
            results.append(phi)
        return results


class _Block:
    """One block: eight decisions, their rows relative to the chosen option, and theta."""

    def __init__(self, builder, pointers, n_rows, d, has_offset):
        self.emit = _Emit(builder)
        self.builder = builder
        self.rows, self.theta, self.scratch, self.side, self.total = pointers
        self.n_rows = n_rows
        self.d = d
        self.stride = (d + has_offset) * LANES
        self.has_offset = has_offset

    def variable(self, row, a):
        base = self.builder.mul(row, ir.Constant(_INT, self.stride))
        return self.emit.load(self.rows, self.builder.add(base, ir.Constant(_INT, a * LANES)))

    def scratch_index(self, row):
        return self.builder.mul(row, ir.Constant(_INT, LANES))

    def objectives(self):
        """Write theta'x of every row to the scratch; return the largest, with the chosen's 0."""
        theta = [
            self.emit.spread(
                self.builder.load(self.builder.gep(self.theta, [ir.Constant(_INT, a)]))
            )
            for a in range(self.d + self.has_offset)
        ]

        def body(row, carried):
            (top,) = carried
            q = self.emit.mul(theta[0], self.variable(row, 0))
            for a in range(1, self.d + self.has_offset):
                q = self.emit.fma(theta[a], self.variable(row, a), q)
            self.emit.store(q, self.scratch, self.scratch_index(row))
            return [self.emit.max(q, top)]

        (top,) = self.emit.over_rows(self.n_rows, body, [self.emit.all(0.0)])
        return top

    def exponentials(self, top):
        """Replace the scratch by exp(q - top); return its sum over the options, chosen included.

        Rows that only fill up the block have q = 0, as the chosen option has: they are taken out
        by their number, which stands in the second row of `side`.
        """

        def body(row, carried):
            (total,) = carried
            q = self.emit.load(self.scratch, self.scratch_index(row))
            e = self.emit.exp(self.emit.sub(q, top))
            self.emit.store(e, self.scratch, self.scratch_index(row))
            return [self.emit.add(total, e)]

        chosen = self.emit.exp(self.emit.sub(self.emit.all(0.0), top))
        filling = self.emit.load(self.side, ir.Constant(_INT, LANES))
        start = self.emit.mul(chosen, self.emit.sub(self.emit.all(1.0), filling))
        (total,) = self.emit.over_rows(self.n_rows, body, [start])
        return total

    def tile(self, left, right):
        """Sums over rows of e x_a (a in left, where right == left) and of e x_a x_c, c <= a."""
        pairs = [(a, c) for a in left for c in right if c <= a]
        diagonal = left == right

        def body(row, carried):
            e = self.emit.load(self.scratch, self.scratch_index(row))
            x = {a: self.variable(row, a) for a in sorted({*left, *right})}
            weighted = {a: self.emit.mul(e, x[a]) for a in left}
            second = [
                self.emit.add(self.emit.mul(weighted[a], x[c]), carried[j])
                for j, (a, c) in enumerate(pairs)
            ]
            first = [
                self.emit.add(weighted[a], carried[len(pairs) + j])
                for j, a in enumerate(left)
                if diagonal
            ]
            return second + first

        n = len(pairs) + (len(left) if diagonal else 0)
        sums = self.emit.over_rows(self.n_rows, body, [self.emit.all(0.0)] * n)
        return dict(zip(pairs, sums, strict=False)), dict(
            zip(left, sums[len(pairs) :], strict=False)
        )

    def add_to_total(self, slot, value):
        index = ir.Constant(_INT, slot * LANES)
        self.emit.store(self.emit.add(self.emit.load(self.total, index), value), self.total, index)

    def moments(self):
        """Add log-likelihood, gradient and information of the eight decisions to `total`."""
        top = self.objectives()
        mass = self.exponentials(top)
        weight = self.emit.load(self.side, ir.Constant(_INT, 0))
        share = self.builder.fdiv(self.emit.all(1.0), mass)
        loss = self.emit.add(self.emit.log(mass), top)
        self.add_to_total(0, self.emit.sub(self.emit.all(0.0), self.emit.mul(weight, loss)))
        tiles = [list(range(s, min(s + TILE, self.d))) for s in range(0, self.d, TILE)]
        mean = {}
        for i, left in enumerate(tiles):
            second, first = self.tile(left, left)
            for a in left:
                mean[a] = self.emit.mul(first[a], share)
                self.add_to_total(1 + a, self.emit.mul(weight, mean[a]))
            self.add_information(second, mean, share, weight)
            for right in tiles[:i]:
                self.add_information(self.tile(left, right)[0], mean, share, weight)

    def add_information(self, second, mean, share, weight):
        for (a, c), value in second.items():
            covariance = self.emit.sub(self.emit.mul(value, share), self.emit.mul(mean[a], mean[c]))
            slot = 1 + self.d + a * (a + 1) // 2 + c
            self.add_to_total(slot, self.emit.mul(weight, covariance))


@intrinsic
def block_moments(typingctx, rows, row, n_rows, theta, variables, offset, side, scratch, total):
    """Add the moments of one block of eight decisions to `total`.

    Parameters (in compiled code)
    ----------
    rows : packed variables, flat; `row` the flat position of the block, `n_rows` its rows
    theta : weights, and one number more for the offset column if there is one
    variables : tuple of length d; offset : tuple of length 1 with an offset column, else 0
    side : flat (2, 8): weight of each decision, number of rows that only fill up
    scratch : at least 8 * n_rows numbers
    total : flat (1 + d + d(d+1)/2, 8): log-likelihood, minus the gradient, information
    """
    d = len(variables)
    has_offset = len(offset)

    def build(context, builder, signature, arguments):
        def data(i):
            return context.make_array(signature.args[i])(context, builder, arguments[i]).data

        origin = builder.gep(data(0), [arguments[1]])
        pointers = (origin, data(3), data(7), data(6), data(8))
        _Block(builder, pointers, arguments[2], d, has_offset).moments()
        return context.get_dummy_value()

    return types.void(
        rows, types.int64, types.int64, theta, variables, offset, side, scratch, total
    ), build


@intrinsic
def relative_rows(
    typingctx, rows, sources, n_rows, references, variables, offset, values, place, size
):
    """Write the rows of one block relative to its chosen rows, eight decisions at a time.

    Parameters (in compiled code)
    ----------
    rows : variables of all options, (n, d)
    sources : flat position in `rows` of each row to write, (n_rows, 8)
    references : flat position of the chosen rows, (8,)
    variables : tuple of length d; offset : tuple of length 1 with an offset column, else 0
    values : packed variables, flat; `place` the flat position of the block
    size : (2, d, 8): the largest |x| and |x_i - x_chosen| so far
    """
    d = len(variables)
    stride = (d + len(offset)) * LANES

    def build(context, builder, signature, arguments):
        def data(i):
            return context.make_array(signature.args[i])(context, builder, arguments[i]).data

        emit = _Emit(builder)
        table, places, size = data(0), data(1), data(8)
        block = builder.gep(data(6), [arguments[7]])
        near = _gathered(builder, table, data(3), _at(0), d)
        before = [emit.load(size, _at(j * LANES)) for j in range(2 * d)]
        starts = [emit.max(_absolute(emit, near[a]), before[a]) for a in range(d)] + before[d:]

        def body(row, carried):
            x = _gathered(builder, table, places, builder.mul(row, _at(LANES)), d)
            z = [builder.fsub(x[a], near[a]) for a in range(d)]
            first = builder.mul(row, _at(stride))
            for a in range(d):
                emit.store(z[a], block, builder.add(first, _at(a * LANES)))
            return [emit.max(_absolute(emit, v), c) for v, c in zip(x + z, carried, strict=True)]

        for j, largest in enumerate(emit.over_rows(arguments[2], body, starts)):
            emit.store(largest, size, _at(j * LANES))
        return context.get_dummy_value()

    return types.void(
        rows, sources, types.int64, references, variables, offset, values, types.int64, size
    ), build


def _at(number):
    return ir.Constant(_INT, number)


def _absolute(emit, lanes):
    """|x| by clearing the sign bit."""
    bits = emit.builder.bitcast(lanes, _INTS)
    return emit.builder.bitcast(emit.builder.and_(bits, emit.all_ints(2**63 - 1)), lanes.type)


def _gathered(builder, table, places, first, d):
    """Vectors of the d variables of the eight rows that begin at places[first..first + 7]."""
    begins = [
        builder.gep(table, [builder.load(builder.gep(places, [builder.add(first, _at(lane))]))])
        for lane in range(LANES)
    ]
    vectors = []
    for a in range(d):
        vector = ir.Constant(_LANES, ir.Undefined)
        for lane, begin in enumerate(begins):
            number = builder.load(builder.gep(begin, [_at(a)]))
            vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
        vectors.append(vector)
    return vectors
