"""Log-likelihood, gradient and information of eight decisions at a time, Eq. (5).

`kind_of` builds the instructions for a number of variables and an offset column, and gives the
compiled loops their addresses: the loops themselves are compiled once for all numbers of variables.
"""

from threading import Lock
from typing import Any

from llvmlite import binding, ir
from numba.core import config, types
from numba.extending import intrinsic

from penchant._compiled import njit

LANES = 8

DOUBLE = ir.DoubleType()
INT = ir.IntType(64)

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
    """Instructions on vectors of some lanes, written to one builder."""

    def __init__(self, builder, lanes=LANES):
        self.builder = builder
        self.lanes = lanes
        self.vector = ir.VectorType(DOUBLE, lanes)
        self.ints = ir.VectorType(INT, lanes)

    def all(self, number):
        return ir.Constant(self.vector, [ir.Constant(DOUBLE, number)] * self.lanes)

    def all_ints(self, number):
        return ir.Constant(self.ints, [ir.Constant(INT, number)] * self.lanes)

    def spread(self, scalar):
        """One number in every lane."""
        one = self.builder.insert_element(
            ir.Constant(self.vector, ir.Undefined), scalar, ir.Constant(_SMALL_INT, 0)
        )
        zeros = ir.Constant(ir.VectorType(_SMALL_INT, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, one, zeros)

    def load(self, pointer, index):
        place = self.builder.gep(pointer, [index])
        value = self.builder.load(self.builder.bitcast(place, self.vector.as_pointer()))
        value.align = 8
        return value

    def store(self, value, pointer, index):
        place = self.builder.gep(pointer, [index])
        self.builder.store(value, self.builder.bitcast(place, self.vector.as_pointer()), align=8)

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
        bits = self.builder.bitcast(x, self.ints)
        return self.builder.bitcast(self.builder.and_(bits, self.all_ints(2**63 - 1)), self.vector)

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
        bits = self.builder.bitcast(self.polynomial(_EXP, r), self.ints)
        power = self.builder.shl(self.builder.bitcast(shifted, self.ints), self.all_ints(52))
        return self.builder.bitcast(self.builder.add(bits, power), self.vector)

    def log(self, x):
        """log for normal x > 0: x = 2^k m, log m by the series of atanh((m - 1)/(m + 1))."""
        bits = self.builder.bitcast(x, self.ints)
        k = self.builder.ashr(
            self.builder.sub(bits, self.all_ints(_SQRT_HALF_BITS)), self.all_ints(52)
        )
        m = self.builder.bitcast(
            self.builder.sub(bits, self.builder.shl(k, self.all_ints(52))), self.vector
        )
        f = self.builder.fdiv(self.sub(m, self.all(1.0)), self.add(m, self.all(1.0)))
        square = self.mul(f, f)
        tail = self.polynomial([2.0 / (2 * j + 3) for j in range(10)], square)
        exponent = self.builder.sitofp(k, self.vector)
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
        carried = [self.builder.phi(self.vector) for _ in starts]
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
            phi = self.builder.phi(self.vector)
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


Kind = tuple[int, int, int, int]

_NUMBERS = types.CPointer(types.float64)
_PLACES = types.CPointer(types.int64)
_MOMENTS = types.void(_NUMBERS, types.int64, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS)
_ROWS = types.void(_NUMBERS, _PLACES, types.int64, _PLACES, _NUMBERS, _NUMBERS)
_called_by_address = njit(
    cache=True, nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True
)
_kinds: dict[tuple[int, bool], tuple[Kind, Any]] = {}
_lock = Lock()


def kind_of(n_parameters: int, has_offset: bool) -> Kind:
    """What the compiled loops need to know of the variables.

    Returns
    -------
    Addresses of `block_moments` and `relative_rows` for them, number of variables, and of columns
    """
    asked = n_parameters, has_offset
    if asked in _kinds:
        return _kinds[asked][0]
    with _lock:
        if asked not in _kinds:
            variables, offset = (0,) * n_parameters, (0,) * has_offset
            moments, rows = _moments_of(variables, offset), _rows_of(variables, offset)
            addresses = _address(moments, _MOMENTS), _address(rows, _ROWS)
            kind = (*addresses, n_parameters, n_parameters + has_offset)
            _kinds[asked] = kind, (moments, rows)  # code goes when its function does
        return _kinds[asked][0]


def _address(function: Any, signature: Any) -> int:
    made = function.get_compile_result(signature)
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))


def _moments_of(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """`block_moments` for a number of variables: the lengths of the tuples, kept with the code."""

    @_called_by_address
    def moments(values, n_rows, theta, side, scratch, total):
        _write_moments(values, n_rows, theta, side, scratch, total, variables, offset)

    return moments


def _rows_of(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """`relative_rows` for a number of variables."""

    @_called_by_address
    def rows(table, sources, n_rows, references, values, size):
        _write_rows(table, sources, n_rows, references, values, size, variables, offset)

    return rows


@intrinsic
def _write_moments(typingctx, values, n_rows, theta, side, scratch, total, variables, offset):
    def build(context, builder, signature, arguments):
        values, n_rows, *pointers = arguments[:6]
        _Block(builder, (values, *pointers), n_rows, len(variables), len(offset)).moments()
        return context.get_dummy_value()

    return types.void(values, n_rows, theta, side, scratch, total, variables, offset), build


@intrinsic
def _write_rows(typingctx, table, sources, n_rows, references, values, size, variables, offset):
    def build(context, builder, signature, arguments):
        _relative_rows(builder, arguments[:6], len(variables), len(offset))
        return context.get_dummy_value()

    return types.void(table, sources, n_rows, references, values, size, variables, offset), build


@intrinsic
def block_moments(typingctx, kind, values, place, n_rows, theta, side, block, scratch, total):
    """Add the moments of one block of eight decisions to `total`.

    Parameters (in compiled code)
    ----------
    kind : see `kind_of`
    values : packed variables, flat; `place` the flat position of the block, `n_rows` its rows
    theta : weights, and one number more for the offset column if there is one
    side : (n_blocks, 16): weight of each decision, number of rows that only fill up
    scratch : at least 8 * n_rows numbers
    total : flat (1 + d + d(d+1)/2, 8): log-likelihood, minus the gradient, information
    """

    def build(context, builder, signature, arguments):
        data = _data(context, builder, signature, arguments)
        of_block = builder.gep(data(5), [builder.mul(arguments[6], at(2 * LANES))])
        origin = builder.gep(data(1), [arguments[2]])
        given = [origin, arguments[3], data(4), of_block, data(7), data(8)]
        _call(builder, builder.extract_value(arguments[0], 0), given)
        return context.get_dummy_value()

    return types.void(
        kind, values, types.int64, types.int64, theta, side, types.int64, scratch, total
    ), build


@intrinsic
def relative_rows(typingctx, kind, table, sources, n_rows, references, values, place, size):
    """Write the rows of one block relative to its chosen rows, eight decisions at a time.

    Parameters (in compiled code)
    ----------
    kind : see `kind_of`
    table : variables of all options, (n, d)
    sources : flat position in `table` of each row to write, (n_rows, 8)
    references : flat position of the chosen rows, (8,)
    values : packed variables, flat; `place` the flat position of the block
    size : (2, d, 8): the largest |x| and |x_i - x_chosen| so far
    """

    def build(context, builder, signature, arguments):
        data = _data(context, builder, signature, arguments)
        block = builder.gep(data(5), [arguments[6]])
        given = [data(1), data(2), arguments[3], data(4), block, data(7)]
        _call(builder, builder.extract_value(arguments[0], 1), given)
        return context.get_dummy_value()

    return types.void(
        kind, table, sources, types.int64, references, values, types.int64, size
    ), build


def _data(context, builder, signature, arguments):
    """Where the numbers of an argument that is an array begin."""
    return lambda i: context.make_array(signature.args[i])(context, builder, arguments[i]).data


def _call(builder, address, given):
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
    builder.call(builder.inttoptr(address, kind.as_pointer()), given)


def _relative_rows(builder, arguments, d, has_offset):
    """Instructions of `relative_rows` for d variables."""
    table, places, n_rows, references, block, size = arguments
    emit = Emit(builder)
    stride = (d + has_offset) * LANES
    near = _gathered(builder, _begins(builder, table, references, at(0)), d)
    following = builder.mul(builder.add(n_rows, at(1)), at(LANES * d))
    before = [emit.load(size, at(j * LANES)) for j in range(2 * d)]
    starts = [emit.max(emit.absolute(near[a]), before[a]) for a in range(d)] + before[d:]

    def body(row, carried):
        begins = _begins(builder, table, places, builder.mul(row, at(LANES)))
        x = _gathered(builder, begins, d)
        for begin in begins:  # eight sets on: read next, where decisions stand in order
            emit.fetch(begin, following)
        z = [builder.fsub(x[a], near[a]) for a in range(d)]
        first = builder.mul(row, at(stride))
        for a in range(d):
            emit.store(z[a], block, builder.add(first, at(a * LANES)))
        return [emit.max(emit.absolute(v), c) for v, c in zip(x + z, carried, strict=True)]

    for j, largest in enumerate(emit.over_rows(n_rows, body, starts)):
        emit.store(largest, size, at(j * LANES))


def _gathered(builder, begins, d):
    """Vectors of the d variables of the eight rows that begin at these places."""
    vectors = []
    for a in range(d):
        vector = ir.Constant(Emit(builder).vector, ir.Undefined)
        for lane, begin in enumerate(begins):
            number = builder.load(builder.gep(begin, [at(a)]))
            vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
        vectors.append(vector)
    return vectors


def _begins(builder, table, places, first):
    """Where the eight rows at places[first..first + 7] begin."""
    return [
        builder.gep(table, [builder.load(builder.gep(places, [builder.add(first, at(lane))]))])
        for lane in range(LANES)
    ]


WRITTEN_OUT = 12  # variables, beyond which writing out all pairs compiles long
FEW = 5  # variables, for which sets of two options have code of their own
AHEAD = 16  # rows, at least, between what is computed and what is fetched

# in names of processors with vectors of eight
WIDE = [
    "avx512",
    "icelake",
    "cannonlake",
    "tigerlake",
    "rocketlake",
    "rapids",
    "knl",
    "knm",
    "znver4",
    "znver5",
]
PLAIN = ("generic", "x86-64", "nocona", "core2", "penryn", "nehalem", "westmere", "btver1")


def _registers():
    """Vector registers of the processor, and how many numbers one holds.

    As numba has it: the host's features, or those of the processor that NUMBA_CPU_NAME names.
    """
    if not binding.get_process_triple().startswith(("x86_64", "i686", "amd64")):
        return 32, 2  # arm64
    features, name = config.CPU_FEATURES, str(config.CPU_NAME)
    if features is None:
        features = binding.get_host_cpu_features().flatten()
    if "+avx512f" in features or (not features and any(word in name for word in WIDE)):
        return 32, 8
    if "+avx" in features or (not features and name not in PLAIN):
        return 16, 4
    return 16, 2


def _tile(registers):
    """Variables whose sums e x_a x_c and e x_a stay in registers, with the row that is added."""
    size = 1
    while (size + 1) * (size + 4) // 2 + size + 2 <= registers:
        size += 1
    return size


REGISTERS, WIDTH = _registers()
TILE = _tile(REGISTERS)
# Where tiles are written out: variables of one, of the variables before them those summed in the
# same pass over rows, and those in each further one. Measured (benchmarks/WIDTHS.md).
HIGH, BESIDE, ACROSS = (5, 0, 5) if REGISTERS == 32 else (2, 2, 5)


class _Block:
    """One block: eight decisions, their rows relative to the chosen option, and theta."""

    def __init__(self, builder, pointers, n_rows, d, has_offset):
        self.emit = Emit(builder)
        self.builder = builder
        self.rows, self.theta, self.side, self.scratch, self.total = pointers
        self.n_rows = n_rows
        self.d = d
        self.stride = (d + has_offset) * LANES
        self.has_offset = has_offset

    def variable(self, row, a):
        return _variable(self.emit, self.rows, self.stride, row, (at(0), a))

    def fetch_next(self, row):
        """Ask for a row of the block that follows while this one keeps the processor busy."""
        ahead = at(AHEAD)
        whole = self.builder.icmp_signed(">", self.n_rows, ahead)
        later = self.builder.add(row, self.builder.select(whole, self.n_rows, ahead))
        base = self.builder.mul(later, at(self.stride))
        for a in range(self.stride // LANES):
            self.emit.fetch(self.rows, self.builder.add(base, at(a * LANES)))

    def weight(self, a):
        return self.builder.load(self.builder.gep(self.theta, [at(a)]))

    def scratch_index(self, row):
        return self.builder.mul(row, at(LANES))

    def objectives(self, theta):
        """Write theta'x of every row to the scratch; return the largest, with the chosen's 0."""
        weights = [self.emit.spread(number) for number in theta]

        def body(row, carried):
            (top,) = carried
            q = self.emit.mul(weights[0], self.variable(row, 0))
            for a in range(1, self.d + self.has_offset):
                q = self.emit.fma(weights[a], self.variable(row, a), q)
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
            self.fetch_next(row)
            q = self.emit.load(self.scratch, self.scratch_index(row))
            e = self.emit.exp(self.emit.sub(q, top))
            self.emit.store(e, self.scratch, self.scratch_index(row))
            return [self.emit.add(total, e)]

        chosen = self.emit.exp(self.emit.sub(self.emit.all(0.0), top))
        start = self.emit.mul(chosen, self.emit.sub(self.emit.all(1.0), self.filling()))
        (total,) = self.emit.over_rows(self.n_rows, body, [start])
        return total

    def ones(self):
        """Scratch and sum where theta = 0: every exponential is 1, and none need be taken."""

        def body(row, carried):
            self.emit.store(self.emit.all(1.0), self.scratch, self.scratch_index(row))
            return []

        self.emit.over_rows(self.n_rows, body, [])
        options = self.builder.sitofp(self.builder.add(self.n_rows, at(1)), DOUBLE)
        return self.emit.sub(self.emit.spread(options), self.filling())

    def filling(self):
        return self.emit.load(self.side, at(LANES))

    def shares(self):
        """Write e = exp(q - top) of every row to the scratch; return top and the sum of e."""
        builder = self.builder
        theta = [self.weight(a) for a in range(self.d + self.has_offset)]
        is_zero = ir.Constant(ir.IntType(1), 1)
        for number in theta:
            zero = builder.fcmp_ordered("==", number, ir.Constant(DOUBLE, 0.0))
            is_zero = builder.and_(is_zero, zero)
        with builder.if_else(is_zero) as (where_zero, elsewhere):
            with where_zero:
                options = self.ones()
                zero_end = builder.block
            with elsewhere:
                largest = self.objectives(theta)
                sum_of_all = self.exponentials(largest)
                end = builder.block
        top, mass = builder.phi(self.emit.vector), builder.phi(self.emit.vector)
        top.add_incoming(self.emit.all(0.0), zero_end)
        top.add_incoming(largest, end)
        mass.add_incoming(options, zero_end)
        mass.add_incoming(sum_of_all, end)
        return top, mass

    def two_shares(self):
        """The same where sets have two options: of the two exponentials, the larger is 1."""
        emit = self.emit
        q = emit.mul(emit.spread(self.weight(0)), self.variable(at(0), 0))
        for a in range(1, self.d + self.has_offset):
            q = emit.fma(emit.spread(self.weight(a)), self.variable(at(0), a), q)
        top = emit.max(q, emit.all(0.0))
        small = emit.exp(emit.sub(emit.sub(q, top), top))
        other_wins = self.builder.fcmp_ordered(">", q, emit.all(0.0))
        e = self.builder.select(other_wins, emit.all(1.0), small)
        chosen = self.builder.select(other_wins, small, emit.all(1.0))
        emit.store(e, self.scratch, at(0))
        start = emit.mul(chosen, emit.sub(emit.all(1.0), self.filling()))
        return top, emit.add(start, e)

    def moments(self):
        """Add log-likelihood, gradient and information of the eight decisions to `total`."""
        if self.d > FEW:
            self.add_moments(*self.shares())
            return
        is_pair = self.builder.icmp_signed("==", self.n_rows, at(1))
        with self.builder.if_else(is_pair) as (where_pair, elsewhere):
            with where_pair:
                n_rows, self.n_rows = self.n_rows, at(1)
                self.add_moments(*self.two_shares())
                self.n_rows = n_rows
            with elsewhere:
                self.add_moments(*self.shares())

    def add_moments(self, top, mass):
        """Add log-likelihood, gradient and information, given what `shares` returns."""
        weight = self.emit.load(self.side, at(0))
        loss = self.emit.mul(weight, self.emit.add(self.emit.log(mass), top))
        _add_to(self.emit, self.total, at(0), self.emit.sub(self.emit.all(0.0), loss))
        with self.builder.goto_entry_block():
            shares = self.builder.alloca(DOUBLE, LANES)
            shares.align = 8 * LANES  # and so what registers cannot hold crosses no line, either
        self.emit.store(self.builder.fdiv(self.emit.all(1.0), mass), shares, at(0))
        pointers = self.rows, self.scratch, self.total, shares, self.side

        def part(i, carried):
            first = self.builder.mul(i, at(WIDTH))
            moved = [self.builder.gep(pointer, [first]) for pointer in pointers]
            _Products(self.builder, moved, self.n_rows, self.d, self.stride).add()
            return []

        self.emit.over_rows(at(LANES // WIDTH), part, [])


def _variable(emit, rows, stride, row, name):
    """A variable of a row; it is named by a first one, and how many come before it from there."""
    first, a = name
    base = emit.builder.mul(row, at(stride))
    place = emit.builder.add(base, emit.builder.mul(first, at(LANES)))
    return emit.load(rows, emit.builder.add(place, at(a * LANES)))


def _add_to(emit, total, slot, value):
    index = emit.builder.mul(slot, at(LANES))
    emit.store(emit.add(emit.load(total, index), value), total, index)


class _Products:
    """Gradient and information of some decisions of a block, given e of its rows and 1 / sum of e.

    Of as many decisions as a register has numbers: sums of eight would not stay in few registers.
    """

    def __init__(self, builder, pointers, n_rows, d, stride):
        self.emit = Emit(builder, WIDTH)
        self.builder = builder
        self.rows, self.scratch, self.total, shares, side = pointers
        self.share, self.weight = self.emit.load(shares, at(0)), self.emit.load(side, at(0))
        self.n_rows = n_rows
        self.d = d
        self.stride = stride
        with builder.goto_entry_block():
            self.means = builder.alloca(DOUBLE, d * LANES)

    def add(self):
        """Add them to the total, tile after tile of pairs of variables."""
        if self.d <= WRITTEN_OUT:
            self.written_out()
            return
        n_whole, rest = divmod(self.d, TILE)

        def row_of_tiles(i, size):
            left = self.builder.mul(i, at(TILE)), size
            self.add_tile(left, (left[0], 0), own=True)
            self.over_tiles(
                i, lambda j: self.add_tile(left, (self.builder.mul(j, at(TILE)), TILE), own=False)
            )

        self.over_tiles(at(n_whole), lambda i: row_of_tiles(i, TILE))
        if rest:
            row_of_tiles(at(n_whole), rest)

    def over_tiles(self, n, body):
        """Tile after tile in a loop."""

        def in_loop(i, carried):
            body(i)
            return []

        self.emit.over_rows(n, in_loop, [])

    def written_out(self):
        """Tile after tile, each in instructions of its own."""
        high = self.d if self.d <= TILE else HIGH
        for first in range(0, self.d, high):
            left = at(first), min(high, self.d - first)
            before = max(0, first - BESIDE)
            self.add_tile(left, (at(before), first - before), own=True)
            n = -(-before // ACROSS)
            for j in range(n):
                begin, end = before * j // n, before * (j + 1) // n
                self.add_tile(left, (at(begin), end - begin), own=False)

    def add_tile(self, left, right, own):
        """Add the means of the variables of the left where `own`, and the covariances of pairs."""
        second, first = self.tile(left, right, own)
        for a, value in first.items():
            mean = self.emit.mul(value, self.share)
            self.emit.store(mean, self.means, self.builder.mul(self.number(a), at(LANES)))
            slot = self.builder.add(self.number(a), at(1))
            _add_to(self.emit, self.total, slot, self.emit.mul(self.weight, mean))
        for (a, c), value in second.items():
            both = self.emit.mul(self.mean(a), self.mean(c))
            covariance = self.emit.sub(self.emit.mul(value, self.share), both)
            slot = self.slot(self.number(a), self.number(c))
            _add_to(self.emit, self.total, slot, self.emit.mul(self.weight, covariance))

    def tile(self, left, right, own):
        """Sums over rows of e x_a x_c, and where `own` of e x_a, by pairs and singles of variables.

        left, right : first variable, and how many. a is of the left; c is of the right, and where
        `own` of the left up to a.
        """
        of_left = [(left[0], k) for k in range(left[1])]
        of_right = [(right[0], o) for o in range(right[1])]
        pairs = [(a, c) for k, a in enumerate(of_left) for c in of_left[: (k + 1) * own]]
        pairs += [(a, c) for a in of_left for c in of_right]

        def body(row, carried):
            e = self.emit.load(self.scratch, self.builder.mul(row, at(LANES)))
            x = {a: _variable(self.emit, self.rows, self.stride, row, a) for a in of_left}
            weighted = {a: self.emit.mul(e, x[a]) for a in of_left}
            x |= {c: _variable(self.emit, self.rows, self.stride, row, c) for c in of_right}
            added = [self.emit.mul(weighted[a], x[c]) for a, c in pairs]
            added += [weighted[a] for a in of_left * own]
            return [self.emit.add(a, c) for a, c in zip(added, carried, strict=True)]

        n = len(pairs) + left[1] * own
        sums = self.emit.over_rows(self.n_rows, body, [self.emit.all(0.0)] * n)
        singles = zip(of_left * own, sums[len(pairs) :], strict=True)
        return dict(zip(pairs, sums, strict=False)), dict(singles)

    def number(self, name):
        """Of a variable that is named by a first one, and how many come before it from there."""
        return self.builder.add(name[0], at(name[1]))

    def mean(self, name):
        return self.emit.load(self.means, self.builder.mul(self.number(name), at(LANES)))

    def slot(self, a, c):
        """Place of a pair in the total."""
        before = self.builder.lshr(self.builder.mul(a, self.builder.add(a, at(1))), at(1))
        return self.builder.add(self.builder.add(before, c), at(1 + self.d))
