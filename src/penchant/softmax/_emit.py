"""Instructions on eight numbers at a time, for the compiled loops.

Compilers vectorise the sums of a softmax over many small choice sets badly: the loops over
variables are short, and every partial sum travels through memory. Here the inner loops are
written directly for a vector of eight lanes, one decision in each, so that partial sums stay in
registers on any processor (wider or narrower machine vectors are the code generator's business).
All of this runs once, when a kernel is compiled.
"""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from penchant._compiled import njit

LANES = 8

DOUBLE = ir.DoubleType()
INT = ir.IntType(64)
VECTOR = ir.VectorType(DOUBLE, LANES)
INTS = ir.VectorType(INT, LANES)

_SMALL_INT = ir.IntType(32)
_FUSED = ("contract",)
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
_SMALLEST = -708.0  # exp below this is as good as 0
_EXP = [1.0, 1.0, 1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720, 1 / 5040, 1 / 40320, 1 / 362880]
_EXP += [1 / 3628800, 1 / 39916800, 1 / 479001600]
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


def at(number):
    """A place, or a number of places, known when the kernel is compiled."""
    return ir.Constant(INT, number)


class Emit:
    """Instructions on lanes, written to one builder."""

    def __init__(self, builder):
        self.builder = builder

    def all(self, number):
        return ir.Constant(VECTOR, [ir.Constant(DOUBLE, number)] * LANES)

    def all_ints(self, number):
        return ir.Constant(INTS, [ir.Constant(INT, number)] * LANES)

    def spread(self, scalar):
        """One number in every lane."""
        one = self.builder.insert_element(
            ir.Constant(VECTOR, ir.Undefined), scalar, ir.Constant(_SMALL_INT, 0)
        )
        zeros = ir.Constant(ir.VectorType(_SMALL_INT, LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, one, zeros)

    def load(self, pointer, index):
        place = self.builder.gep(pointer, [index])
        value = self.builder.load(self.builder.bitcast(place, VECTOR.as_pointer()))
        value.align = 8
        return value

    def store(self, value, pointer, index):
        place = self.builder.gep(pointer, [index])
        self.builder.store(value, self.builder.bitcast(place, VECTOR.as_pointer()), align=8)

    def add(self, a, b):
        return self.builder.fadd(a, b, flags=_FUSED)

    def sub(self, a, b):
        return self.builder.fsub(a, b, flags=_FUSED)

    def mul(self, a, b):
        return self.builder.fmul(a, b, flags=_FUSED)

    def fma(self, a, b, c):
        """a * b + c."""
        return self.add(self.mul(a, b), c)

    def fetch(self, pointer, index):
        """Ask for memory that will be read soon; asking beyond the end of an array does no harm."""
        address = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [address, *[_SMALL_INT] * 3])
        prefetch = self.builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        place = self.builder.bitcast(self.builder.gep(pointer, [index]), address)
        for_reading, keep_close, data = _SMALL_INT(0), _SMALL_INT(3), _SMALL_INT(1)
        self.builder.call(prefetch, [place, for_reading, keep_close, data])

    def absolute(self, x):
        """|x| by clearing the sign bit."""
        bits = self.builder.bitcast(x, INTS)
        return self.builder.bitcast(self.builder.and_(bits, self.all_ints(2**63 - 1)), VECTOR)

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
        bits = self.builder.bitcast(self.polynomial(_EXP, r), INTS)
        power = self.builder.shl(self.builder.bitcast(shifted, INTS), self.all_ints(52))
        return self.builder.bitcast(self.builder.add(bits, power), VECTOR)

    def log(self, x):
        """log for normal x > 0: x = 2^k m, log m by the series of atanh((m - 1)/(m + 1))."""
        bits = self.builder.bitcast(x, INTS)
        k = self.builder.ashr(
            self.builder.sub(bits, self.all_ints(_SQRT_HALF_BITS)), self.all_ints(52)
        )
        m = self.builder.bitcast(
            self.builder.sub(bits, self.builder.shl(k, self.all_ints(52))), VECTOR
        )
        f = self.builder.fdiv(self.sub(m, self.all(1.0)), self.add(m, self.all(1.0)))
        square = self.mul(f, f)
        tail = self.polynomial([2.0 / (2 * j + 3) for j in range(10)], square)
        exponent = self.builder.sitofp(k, VECTOR)
        small = self.fma(exponent, self.all(_LN2_LOW), self.mul(self.mul(f, square), tail))
        log_m = self.add(self.add(f, f), small)
        return self.fma(exponent, self.all(_LN2_HIGH), log_m)

    def over_rows(self, n_rows, body, starts):
        """Loop over rows, carrying a list of lanes; returns their last values."""
        if isinstance(n_rows, ir.Constant) and n_rows.constant == 1:
            return body(at(0), starts)
        before = self.builder.block
        head = self.builder.append_basic_block("rows")
        after = self.builder.append_basic_block("rows.end")
        empty = self.builder.icmp_signed("<=", n_rows, at(0))
        self.builder.cbranch(empty, after, head)
        self.builder.position_at_end(head)
        row = self.builder.phi(INT)
        carried = [self.builder.phi(VECTOR) for _ in starts]
        ends = body(row, carried)
        tail = self.builder.block
        following = self.builder.add(row, at(1))
        row.add_incoming(at(0), before)
        row.add_incoming(following, tail)
        for phi, start, end in zip(carried, starts, ends, strict=True):
            phi.add_incoming(start, before)
            phi.add_incoming(end, tail)
        self.builder.cbranch(self.builder.icmp_signed("<", following, n_rows), head, after)
        self.builder.position_at_end(after)
        results = []
        for start, end in zip(starts, ends, strict=True):
            phi = self.builder.phi(VECTOR)
            phi.add_incoming(start, before)
            phi.add_incoming(end, tail)
            results.append(phi)
        return results


def _of_eight(function):
    """An intrinsic that replaces the eight numbers from `first` on by a function of them."""

    def replace(typingctx, values, first):
        def build(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            emit = Emit(builder)
            numbers = emit.load(data, arguments[1])
            emit.store(getattr(emit, function)(numbers), data, arguments[1])
            return context.get_dummy_value()

        return types.void(values, types.int64), build

    return intrinsic(replace)


_exponentials_of_eight = _of_eight("exp")
_logarithms_of_eight = _of_eight("log")


@njit(nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def exponentials_of(values, n):
    """Replace the first n, and those up to the next multiple of 8, by their exponentials."""
    for first in range(0, n, LANES):
        _exponentials_of_eight(values, first)


@njit(cache=True, nogil=True, error_model="numpy")
def exponentials(values):
    """Replace numbers by their exponentials, to about 1 unit in the last place.

    values : (n,), n a multiple of 8, none above 700; below -708 it is 3e-308
    """
    exponentials_of(values, len(values))


@njit(cache=True, nogil=True, error_model="numpy")
def logarithms(values):
    """Replace positive numbers, none of them subnormal, by their logarithms.

    values : (n,), n a multiple of 8
    """
    for first in range(0, len(values), LANES):
        _logarithms_of_eight(values, first)


@njit(cache=True, nogil=True, error_model="numpy")
def whole_blocks(n):
    """The next multiple of 8."""
    return (n + LANES - 1) // LANES * LANES
