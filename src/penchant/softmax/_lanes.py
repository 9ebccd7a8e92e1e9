"""Log-likelihood, gradient and information of eight decisions at a time, Eq. (5).

`kind_of` builds the instructions for a number of variables and an offset column, and gives the
compiled loops their addresses: the loops themselves are compiled once for all numbers of variables.
"""

import math
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
_LN2 = 0.6931471805599453
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
_SMALLEST = -708.0  # exp below this is as good as 0
# exp r to 4e-17 for |r| <= log(2)/2: its series, but for the last digits of later terms, which
# interpolate it at the zeros of a Chebyshev polynomial and so need fewer
_EXP = [
    1.0,
    1.0,
    0.5,
    0.16666666666666666,
    0.04166666666665136,
    0.008333333333332155,
    0.0013888888905881542,
    0.0001984126985433861,
    2.4801536388690766e-05,
    2.755728006701698e-06,
    2.761380686153829e-07,
    2.5095554677111112e-08,
]
# 2^r, as well, for |r| <= 1/2
_EXP_2 = [
    1.0,
    0.6931471805599453,
    0.24022650695910158,
    0.055504108664821625,
    0.009618129107587256,
    0.001333355814640647,
    0.00015403530463724353,
    1.5252733841556773e-05,
    1.3215432535912375e-06,
    1.0178057087733941e-07,
    7.074194297288521e-09,
    4.4558179083360645e-10,
]
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

    def fetch(self, pointer, index, nearest=True):
        """Ask for memory that will be read soon; asking beyond the end of an array does no harm."""
        address = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [address, *[_SMALL_INT] * 3])
        prefetch = self.builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        place = self.builder.bitcast(self.builder.gep(pointer, [index]), address)
        for_reading, keep_close, data = _SMALL_INT(0), _SMALL_INT(2 + nearest), _SMALL_INT(1)
        self.builder.call(prefetch, [place, for_reading, keep_close, data])

    def absolute(self, x):
        """|x| by clearing the sign bit."""
        bits = self.builder.bitcast(x, self.ints)
        return self.builder.bitcast(self.builder.and_(bits, self.all_ints(2**63 - 1)), self.vector)

    def max(self, a, b):
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def polynomial(self, coefficients, x):
        """Even and odd powers, each from the highest down: two chains that copy no constant."""
        square, chains = self.mul(x, x), []
        for terms in (coefficients[::2], coefficients[1::2]):
            total = self.all(terms[-1])
            for c in terms[-2::-1]:
                total = self.fma(total, square, self.all(c))
            chains.append(total)
        return self.fma(chains[1], x, chains[0])

    def exp(self, x):
        """exp for x <= 700, to about 1 unit in the last place; 3e-308 below the smallest.

        x = k log 2 + r; exp x = 2^k exp r.
        """
        inside = self.max(x, self.all(_SMALLEST))
        shifted = self.fma(inside, self.all(_LOG2_E), self.all(_ROUND))
        k = self.builder.fsub(shifted, self.all(_ROUND))
        r = self.fma(k, self.all(-_LN2_HIGH), inside)
        r = self.fma(k, self.all(-_LN2_LOW), r)
        return self.scaled(self.polynomial(_EXP, r), shifted)

    def scaled(self, x, shifted):
        """2^k x, the power of two added to the exponent bits."""
        bits = self.builder.bitcast(x, self.ints)
        power = self.builder.shl(self.builder.bitcast(shifted, self.ints), self.all_ints(52))
        return self.builder.bitcast(self.builder.add(bits, power), self.vector)

    def exp_of_sum(self, x):
        """exp for |x| <= 708, where x is a sum that is not exact itself.

        x / log 2 = k + r; exp x = 2^k 2^r. To about 1 unit in the last place, and what a sixteenth
        of one of x makes of it; a whole one where the processor fuses no product and sum.
        """
        shifted = self.fma(x, self.all(_LOG2_E), self.all(_ROUND))
        k = self.builder.fsub(shifted, self.all(_ROUND))
        r = self.sub(self.mul(x, self.all(_LOG2_E)), k)
        return self.scaled(self.polynomial(_EXP_2, r), shifted)

    def power_of_two(self, x):
        """2^x for |x| <= 1022, to about 1 unit in the last place: x = k + r; 2^x = 2^k 2^r."""
        shifted = self.add(x, self.all(_ROUND))
        k = self.builder.fsub(shifted, self.all(_ROUND))
        return self.scaled(self.polynomial(_EXP_2, self.sub(x, k)), shifted)

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

    def joined(self, x, verb):
        """One number of all lanes: halves of them are added or multiplied, again and again."""
        n = self.lanes
        while n > 1:
            n //= 2
            low, high = (
                ir.Constant(ir.VectorType(_SMALL_INT, n), list(range(first, first + n)))
                for first in (0, n)
            )
            x = verb(
                self.builder.shuffle_vector(x, x, low), self.builder.shuffle_vector(x, x, high)
            )
        return self.builder.extract_element(x, ir.Constant(_SMALL_INT, 0))

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
_MOMENTS = types.void(_NUMBERS, types.int64, types.int64, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS)
_ROWS = types.void(_NUMBERS, _PLACES, types.int64, _PLACES, _NUMBERS, _NUMBERS)
_OF_PAIRS = types.void(_NUMBERS, types.int64, _NUMBERS, _NUMBERS)
_OF_SLOPES = types.void(_NUMBERS, types.int64, types.int64, _NUMBERS, _NUMBERS)
_OF_SETS = types.void(_NUMBERS, types.int64, types.int64, types.int64, _NUMBERS, _NUMBERS, _NUMBERS)
_OF_LAYOUT = types.void(_NUMBERS, _PLACES, types.int64, _NUMBERS)
called_by_address = njit(
    cache=True, nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True
)
_kinds: dict[tuple[int, bool], tuple[Kind, Any]] = {}
_written: dict[tuple[Any, int, int], tuple[int, Any]] = {}
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
            addresses = address_of(moments, _MOMENTS), address_of(rows, _ROWS)
            kind = (*addresses, n_parameters, n_parameters + has_offset)
            _kinds[asked] = kind, (moments, rows)  # code goes when its function does
        return _kinds[asked][0]


def pair_kind(n_parameters: int) -> int:
    """Address of `pair_moments` for so many variables; 0 where other loops are as quick."""
    if n_parameters > MOST_OF_PAIRS:
        return 0
    return _kept(n_parameters, 0, _pairs_of, _OF_PAIRS)


def slope_kind(n_parameters: int, n_shape: int) -> int:
    """Address of `pair_slopes` for so many variables and slopes of each; 0 as above."""
    n_sums = n_slope_sums(n_parameters, n_shape)
    if WIDTH == 2 or n_sums > REGISTERS - SPARE or not n_shape:
        return 0
    return _kept(n_parameters, n_shape, _slopes_of, _OF_SLOPES)


def n_slope_sums(n_parameters: int, n_shape: int) -> int:
    """How many sums `pair_slopes` and `set_slopes` fill."""
    return sum(len(names) for names in _sums_of_slopes(n_parameters, n_shape))


def set_kind(n_parameters: int, n_shape: int) -> int:
    """Address of `set_slopes` for so many variables and slopes of each."""
    return _kept(n_parameters, n_shape, _set_slopes_of, _OF_SETS)


def layout_kind(n_options: int, n_parameters: int) -> int:
    """Address of `lay_out_sets` for sets of such a size; 0 where they are large."""
    if n_options * n_parameters > MOST_LAID_OUT:
        return 0
    return _kept(n_options, n_parameters, _layout_of, _OF_LAYOUT)


def _kept(first: int, second: int, write: Any, signature: Any) -> int:
    """The address of code that is written once, for two numbers."""
    asked = write, first, second
    if asked not in _written:
        with _lock:
            if asked not in _written:
                made = write((0,) * first, (0,) * second)
                _written[asked] = address_of(made, signature), made
    return _written[asked][0]


def address_of(function: Any, signature: Any) -> int:
    """Where other compiled loops find a function that is compiled for these arguments."""
    made = function.get_compile_result(signature)
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))


def _moments_of(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """`block_moments` for a number of variables: the lengths of the tuples, kept with the code."""

    @called_by_address
    def moments(values, n_rows, n_blocks, theta, side, scratch, total):
        _write_moments(values, n_rows, n_blocks, theta, side, scratch, total, variables, offset)

    return moments


def _rows_of(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """`relative_rows` for a number of variables."""

    @called_by_address
    def rows(table, sources, n_rows, references, values, size):
        _write_rows(table, sources, n_rows, references, values, size, variables, offset)

    return rows


def _slopes_of(variables: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """`pair_slopes` for a number of variables, and of slopes of each."""

    @called_by_address
    def slopes(columns, stride, n_blocks, theta, sums):
        _write_slopes(columns, stride, n_blocks, theta, sums, variables, shape)

    return slopes


@intrinsic
def _write_slopes(typingctx, columns, stride, n_blocks, theta, sums, variables, shape):
    def build(context, builder, signature, arguments):
        _align_stack(builder)
        _pair_slopes(builder, arguments[:5], len(variables), len(shape))
        return context.get_dummy_value()

    return types.void(columns, stride, n_blocks, theta, sums, variables, shape), build


def _set_slopes_of(variables: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """`set_slopes` for a number of variables, and of slopes of each."""

    @called_by_address
    def slopes(values, plane, n_rows, n_blocks, theta, scratch, sums):
        _write_set_slopes(values, plane, n_rows, n_blocks, theta, scratch, sums, variables, shape)

    return slopes


@intrinsic
def _write_set_slopes(
    typingctx, values, plane, n_rows, n_blocks, theta, scratch, sums, variables, shape
):
    def build(context, builder, signature, arguments):
        _align_stack(builder)
        _set_slopes(builder, arguments[:7], len(variables), len(shape))
        return context.get_dummy_value()

    given = values, plane, n_rows, n_blocks, theta, scratch, sums, variables, shape
    return types.void(*given), build


def _layout_of(options: tuple[int, ...], variables: tuple[int, ...]) -> Any:
    """`lay_out_sets` for a number of options, and of variables."""

    @called_by_address
    def layout(table, chosen, n_blocks, values):
        _write_layout(table, chosen, n_blocks, values, options, variables)

    return layout


@intrinsic
def _write_layout(typingctx, table, chosen, n_blocks, values, options, variables):
    def build(context, builder, signature, arguments):
        _lay_out_sets(builder, arguments[:4], len(options), len(variables))
        return context.get_dummy_value()

    return types.void(table, chosen, n_blocks, values, options, variables), build


def _pairs_of(variables: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """`pair_moments` for a number of variables."""

    @called_by_address
    def pairs(values, n_blocks, theta, total):
        _write_pairs(values, n_blocks, theta, total, variables)

    return pairs


@intrinsic
def _write_pairs(typingctx, values, n_blocks, theta, total, variables):
    def build(context, builder, signature, arguments):
        _align_stack(builder)
        _pair_moments(builder, arguments[:4], len(variables))
        return context.get_dummy_value()

    return types.void(values, n_blocks, theta, total, variables), build


@intrinsic
def _write_moments(
    typingctx, values, n_rows, n_blocks, theta, side, scratch, total, variables, offset
):
    def build(context, builder, signature, arguments):
        values, n_rows, n_blocks, *pointers = arguments[:7]
        n_columns = len(variables) + len(offset)
        given = (values, *pointers), (n_rows, n_blocks), len(variables), n_columns
        _align_stack(builder)
        _moments(builder, *given)
        return context.get_dummy_value()

    return types.void(
        values, n_rows, n_blocks, theta, side, scratch, total, variables, offset
    ), build


def _align_stack(builder):
    """Let vectors that wait on the stack not lie across two lines of the cache, or two pages.

    Where they do is a matter of chance: it may double the time of all evaluations of a process.
    """
    attributes = builder.function.attributes
    attributes.add("nounwind")  # llvmlite writes an alignment beside another attribute only
    attributes.alignstack = 64


@intrinsic
def _write_rows(typingctx, table, sources, n_rows, references, values, size, variables, offset):
    def build(context, builder, signature, arguments):
        _relative_rows(builder, arguments[:6], len(variables), len(offset))
        return context.get_dummy_value()

    return types.void(table, sources, n_rows, references, values, size, variables, offset), build


@intrinsic
def block_moments(typingctx, kind, values, place, sizes, theta, side, block, scratch, total):
    """Add the moments of blocks of eight decisions that follow each other to `total`.

    Parameters (in compiled code)
    ----------
    kind : see `kind_of`
    values : packed variables, flat; `place` the flat position of the first block
    sizes : rows of each block, and how many blocks; the sums are the same to the last bit as those
        of block after block
    theta : weights, and one number more for the offset column if there is one
    side : (n_blocks, 16): weight of each decision, number of rows that only fill up
    scratch : at least 8 (n_rows + d + 2) numbers for each block
    total : flat (2 + d + d(d+1)/2, 8): log-likelihood, minus the gradient, information; and a
        product of at most 512 numbers between 1 and 2, whose logarithm is still to be taken from
        the log-likelihood, or 0 before there is one
    """

    def build(context, builder, signature, arguments):
        data = _data(context, builder, signature, arguments)
        of_block = builder.gep(data(5), [builder.mul(arguments[6], at(2 * LANES))])
        origin = builder.gep(data(1), [arguments[2]])
        both = [builder.extract_value(arguments[3], i) for i in range(2)]
        given = [origin, *both, data(4), of_block, data(7), data(8)]
        call_address(builder, builder.extract_value(arguments[0], 0), given)
        return context.get_dummy_value()

    both = types.UniTuple(types.int64, 2)
    return types.void(
        kind, values, types.int64, both, theta, side, types.int64, scratch, total
    ), build


@intrinsic
def pair_moments(typingctx, address, values, place, n_blocks, theta, total):
    """The moments of blocks of eight choices between two options, each of which counts once.

    Parameters (in compiled code)
    ----------
    address : see `pair_kind`
    values : packed variables, flat; `place` the flat position of the first block
    n_blocks : at most BLOCKS_OF_PAIRS
    theta : weights
    total : (2 + d + d(d+1)/2,), filled: log-likelihood, minus the gradient, information; and a
        product whose logarithm is still to be taken from the log-likelihood. A variable of 0 in a
        lane that only fills up adds a factor of 2 to it, and nothing else.
    """

    def build(context, builder, signature, arguments):
        data = _data(context, builder, signature, arguments)
        origin = builder.gep(data(1), [arguments[2]])
        call_address(builder, arguments[0], [origin, arguments[3], data(4), data(5)])
        return context.get_dummy_value()

    return types.void(types.int64, values, types.int64, types.int64, theta, total), build


@intrinsic
def pair_slopes(typingctx, address, columns, n_blocks, theta, k, sums):
    """Sums over choices between two options that derivatives in shape parameters are made of.

    Parameters (in compiled code)
    ----------
    address : see `slope_kind`
    columns : (d + n_shape d, n): the other option less the one chosen, of each variable and then
        of their slopes, shape parameter after shape parameter; 0 beyond the last choice
    n_blocks : of eight choices
    theta : (n_pairs, d), of which row k are the weights
    sums : filled, see `_sums_of_slopes`
    """

    def build(context, builder, signature, arguments):
        arrays = [
            context.make_array(signature.args[i])(context, builder, arguments[i]) for i in (1, 3, 5)
        ]
        stride, d = (builder.extract_value(array.shape, 1) for array in arrays[:2])
        weights = builder.gep(arrays[1].data, [builder.mul(arguments[4], d)])
        given = [arrays[0].data, stride, arguments[2], weights, arrays[2].data]
        call_address(builder, arguments[0], given)
        return context.get_dummy_value()

    number = types.int64
    return types.void(number, columns, number, theta, number, sums), build


@intrinsic
def set_slopes(typingctx, address, values, plane, n_rows, n_blocks, theta, k, scratch, sums):
    """The same sums as those of `pair_slopes`, over choices among more options.

    Parameters (in compiled code)
    ----------
    address : see `set_kind`
    values : variables of blocks as `lay_out_sets` writes them, and so many numbers further on, a
        plane for each shape parameter, their slopes
    n_rows : options but the one chosen
    n_blocks : of eight choices; variables beyond the last choice are 0
    theta : (n_pairs, d), of which row k are the weights
    scratch : 8 n_rows (1 + n_shape) numbers
    sums : filled, see `_sums_of_slopes`
    """

    def build(context, builder, signature, arguments):
        data = _data(context, builder, signature, arguments)
        d = builder.extract_value(
            context.make_array(signature.args[5])(context, builder, arguments[5]).shape, 1
        )
        weights = builder.gep(data(5), [builder.mul(arguments[6], d)])
        given = [data(1), *arguments[2:5], weights, data(7), data(8)]
        call_address(builder, arguments[0], given)
        return context.get_dummy_value()

    number = types.int64
    return types.void(number, values, number, number, number, theta, number, scratch, sums), build


@intrinsic
def lay_out_sets(typingctx, address, table, row, chosen, event, n_blocks, values, place):
    """Write blocks of eight choices in a row, options less the one chosen, which is left out.

    Parameters (in compiled code)
    ----------
    address : see `layout_kind`
    table : variables (rows, n_options, d), flat; `row` the flat position of the first
    chosen : options taken; `event` the first of them
    n_blocks : of eight choices
    values : (n_blocks, n_options - 1, d, 8), flat; `place` the flat position of the first block
    """

    def build(context, builder, signature, arguments):
        data = _data(context, builder, signature, arguments)
        given = [
            builder.gep(data(1), [arguments[2]]),
            builder.gep(data(3), [arguments[4]]),
            arguments[5],
            builder.gep(data(6), [arguments[7]]),
        ]
        call_address(builder, arguments[0], given)
        return context.get_dummy_value()

    number = types.int64
    return types.void(number, table, number, chosen, number, number, values, number), build


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
        call_address(builder, builder.extract_value(arguments[0], 1), given)
        return context.get_dummy_value()

    return types.void(
        kind, table, sources, types.int64, references, values, types.int64, size
    ), build


def _data(context, builder, signature, arguments):
    """Where the numbers of an argument that is an array begin."""
    return lambda i: context.make_array(signature.args[i])(context, builder, arguments[i]).data


def call_address(builder, address, given):
    """Call a function by its address, which returns nothing."""
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


LIGHTEST = 1e-290  # weight of which the inverse is a number, times any sum of exponentials
WRITTEN_OUT = 12  # variables, beyond which writing out all pairs compiles long
FEW = 5  # variables, for which sets of two options have code of their own, and sums are few
FAR = 100.0  # objective from the chosen option's, up to which exponentials are taken as they are
AT_ONCE = 256  # vectors gone over together, at most: 16 kB, which stay close to the processor

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


def _held(first, high):
    """Registers for the sums of a strip of variables, and for the row that is added to them.

    The sums are those of pairs of a variable of the strip and one of the first, or of the strip up
    to itself; with them stay the means of the strip.
    """
    return high * first + high * (high + 1) // 2 + 2 * high + 1


def _strips(d):
    """First variable and height of each strip into which pairs of d variables are cut.

    As high as registers allow: fewer passes over the rows. One variable is always a strip.
    """
    strips, first = [], 0
    while first < d:
        high = 1
        while first + high < d and _held(first, high + 1) <= REGISTERS:
            high += 1
        strips.append((first, high))
        first += high
    return strips


REGISTERS, WIDTH = _registers()
AT_A_TIME = LANES if WIDTH == 2 else WIDTH  # exponentials; found to be the faster each
TILE = _strips(REGISTERS)[0][1]
MOST_OF_PAIRS = {8: 3, 4: 2}.get(WIDTH, 0)  # variables; with more, or short vectors, it is slower
MOST_LAID_OUT = 24  # variables of a set; with more it compiles long
SPARE = 12  # registers that sums over choices leave for an exponential
BLOCKS_OF_PAIRS = 120  # so few that a product of numbers up to 2, eight a block, is a number


def _fetched(d, n_columns, of_pairs):
    """Lines of the cache that each loop over rows asks for at a row, and those asked for before.

    The loop of the exponentials is the first, that of the means of many the second. All of a row
    would be more than memory gives while one loop lasts, so each asks for what its multiplications
    leave time for. Where sets have two options, the first takes all decisions of a block at once.
    """
    loops = [(len(_EXP_2) + 2, LANES if of_pairs else AT_A_TIME)]
    if d > FEW:
        loops.append((d, WIDTH))
    if d <= WRITTEN_OUT:
        products = [high * first + high * (high + 3) // 2 for first, high in _strips(d)]
        loops += [(work, WIDTH) for work in products]
    fetched, before, done, all_work = [], 0, 0, sum(work for work, _ in loops)
    for work, lanes in loops:
        done += work
        n_parts = LANES // lanes
        n = max(0, math.ceil((n_columns * done / all_work - before) / n_parts))
        fetched.append((n, before))
        before += n * n_parts
    return fetched


def _moments(builder, pointers, sizes, d, n_columns):
    """Instructions of `block_moments` for d variables."""
    if d > FEW:
        _add_moments(builder, pointers, sizes, d, n_columns)
        return
    n_rows, n_blocks = sizes
    is_pair = builder.icmp_signed("==", n_rows, at(1))
    with builder.if_else(is_pair) as (where_pair, elsewhere):
        with where_pair:
            _add_moments_of_pairs(builder, pointers, n_blocks, d, n_columns)
        with elsewhere:
            _add_moments(builder, pointers, sizes, d, n_columns)


def _add_moments_of_pairs(builder, pointers, n_blocks, d, n_columns):
    """Where sets have two options: blocks that are plain first, all or all but the last."""
    given = d, n_columns
    all_blocks = _Blocks(Emit(builder), pointers, (at(1), n_blocks), *given, at(0))
    n_plain = all_blocks.n_plain()
    with builder.if_then(builder.icmp_signed(">", n_plain, at(0))):
        _add_moments(builder, pointers, (at(1), n_plain), *given, plain=True)
    with builder.if_then(builder.icmp_signed("<", n_plain, n_blocks)):
        values, theta, side, *others = pointers
        values = builder.gep(values, [builder.mul(n_plain, at(n_columns * LANES))])
        side = builder.gep(side, [builder.mul(n_plain, at(2 * LANES))])
        rest = builder.sub(n_blocks, n_plain)
        _add_moments(builder, (values, theta, side, *others), (at(1), rest), *given)


def _add_moments(builder, pointers, sizes, d, n_columns, plain=False):
    """First the probabilities of all blocks, then the sums: some decisions of each at a time."""
    blocks = _Blocks(Emit(builder), pointers, sizes, d, n_columns, at(0), plain)
    blocks.add_values()
    blocks.over_parts(WIDTH, _Blocks.add_products)


def _weights_of(builder, emit, theta, d):
    """Weights in units in which exponentials are powers of 2, one in every lane."""
    in_units = ir.Constant(DOUBLE, 1.0 / _LN2)
    given = [builder.load(builder.gep(theta, [at(a)])) for a in range(d)]
    return [emit.spread(builder.fmul(weight, in_units)) for weight in given]


def _between_two(emit, weights, x):
    """Of the option not chosen: its objective, probability p, p (1 - p); and 1 + exp -|q|."""
    builder, zero, one = emit.builder, emit.all(0.0), emit.all(1.0)
    q = emit.mul(weights[0], x[0])
    for weight, variable in zip(weights[1:], x[1:], strict=True):
        q = emit.fma(weight, variable, q)
    lowest = emit.all(_SMALLEST / _LN2)
    e = emit.power_of_two(emit.max(emit.sub(zero, emit.absolute(q)), lowest))
    mass = emit.add(one, e)
    share = builder.fdiv(one, mass)
    rest = emit.mul(e, share)
    p = builder.select(builder.fcmp_ordered(">", q, zero), share, rest)
    return q, p, emit.mul(rest, share), mass


def _triangle(n):
    return [(a, c) for a in range(n) for c in range(a + 1)]


def _pair_moments(builder, arguments, d):
    """Instructions of `pair_moments` for d variables: one loop, whose sums stay in registers."""
    values, n_blocks, theta, total = arguments
    emit, pairs = Emit(builder, WIDTH), _triangle(d)
    zero, one = emit.all(0.0), emit.all(1.0)
    weights = _weights_of(builder, emit, theta, d)

    def some_lanes(place, sums):
        x = [emit.load(values, builder.add(place, at(a * LANES))) for a in range(d)]
        q, p, spread, mass = _between_two(emit, weights, x)
        top = builder.select(builder.fcmp_unordered(">", q, zero), q, zero)  # NaN stays
        part = [emit.mul(spread, x[a]) for a in range(d)]
        first, product, *others = sums
        return [
            emit.sub(first, top),
            emit.mul(product, mass),
            *(emit.fma(p, x[a], others[a]) for a in range(d)),
            *(emit.fma(part[a], x[c], others[d + i]) for i, (a, c) in enumerate(pairs)),
        ]

    def of_block(k, sums):
        first = builder.mul(k, at(d * LANES))
        for lane in range(0, LANES, WIDTH):
            sums = some_lanes(builder.add(first, at(lane)), sums)
        return sums

    starts = [zero, one, *[zero] * (d + len(pairs))]
    top, product, *others = emit.over_rows(n_blocks, of_block, starts)
    value = builder.fmul(emit.joined(top, emit.add), ir.Constant(DOUBLE, _LN2))
    numbers = [value, *(emit.joined(sums, emit.add) for sums in others)]
    for j, number in enumerate([*numbers, emit.joined(product, emit.mul)]):
        builder.store(number, builder.gep(total, [at(j)]))


def _sums_of_slopes(d, n_shape):
    """Pairs of numbers of what is multiplied and summed up by `pair_slopes`, in five parts.

    With away a how the option not chosen differs in variable a, change (q, a) in its slopes, and s
    q in the slopes of the objective: sums of p s, of p change, of p (1 - p) away away, of p (1 - p)
    away s, and of p (1 - p) s s.
    """
    both = [(a, q) for a in range(d) for q in range(n_shape)]
    return [(q, q) for q in range(n_shape)], both, _triangle(d), both, _triangle(n_shape)


def _pair_slopes(builder, arguments, d, n_shape):
    """Instructions of `pair_slopes` for d variables and n_shape slopes of each."""
    columns, stride, n_blocks, theta, sums = arguments
    emit = Emit(builder, WIDTH)
    weights = _weights_of(builder, emit, theta, d)
    plain = [emit.mul(weight, emit.all(_LN2)) for weight in weights]
    of_s, of_changes, of_away, of_both, of_slopes = _sums_of_slopes(d, n_shape)
    rows = [builder.gep(columns, [builder.mul(stride, at(i))]) for i in range(d * (1 + n_shape))]

    def some_lanes(place, carried):
        z = [emit.load(row, place) for row in rows]
        away, changes = z[:d], z[d:]
        _, p, spread, _ = _between_two(emit, weights, away)
        s = []
        for q in range(n_shape):
            s.append(emit.mul(plain[0], changes[q * d]))
            for a in range(1, d):
                s[q] = emit.fma(plain[a], changes[q * d + a], s[q])
        part = [emit.mul(spread, variable) for variable in away]
        bent = [emit.mul(spread, slope) for slope in s]
        added = [(p, s[q]) for q, _ in of_s]
        added += [(p, changes[q * d + a]) for a, q in of_changes]
        added += [(part[a], away[c]) for a, c in of_away]
        added += [(part[a], s[q]) for a, q in of_both]
        added += [(bent[q], s[o]) for q, o in of_slopes]
        return [emit.fma(*both, total) for both, total in zip(added, carried, strict=True)]

    n_sums = n_slope_sums(d, n_shape)
    n_vectors = builder.mul(n_blocks, at(LANES // WIDTH))

    def of_vector(k, carried):
        return some_lanes(builder.mul(k, at(WIDTH)), carried)

    ends = emit.over_rows(n_vectors, of_vector, [emit.all(0.0)] * n_sums)
    for j, end in enumerate(ends):
        builder.store(emit.joined(end, emit.add), builder.gep(sums, [at(j)]))


def _set_slopes(builder, arguments, d, n_shape):
    """Instructions of `set_slopes` for d variables and n_shape slopes of each."""
    values, plane, n_rows, n_blocks, theta, scratch, sums = arguments
    emit, n_parts = Emit(builder, WIDTH), LANES // WIDTH
    zero, lowest = emit.all(0.0), emit.all(_SMALLEST / _LN2)
    weights = _weights_of(builder, emit, theta, d)
    plain = [emit.mul(weight, emit.all(_LN2)) for weight in weights]
    of_s, of_changes, of_away, of_both, of_slopes = _sums_of_slopes(d, n_shape)
    n_first = len(of_s) + len(of_changes)
    planes = [builder.gep(values, [builder.mul(plane, at(q))]) for q in range(1 + n_shape)]

    def of_vector(v, carried):
        block, part = builder.udiv(v, at(n_parts)), builder.urem(v, at(n_parts))
        begin = builder.add(
            builder.mul(builder.mul(block, n_rows), at(d * LANES)), builder.mul(part, at(WIDTH))
        )

        def variables(row, q):
            first = builder.add(begin, builder.mul(row, at(d * LANES)))
            return [emit.load(planes[q], builder.add(first, at(a * LANES))) for a in range(d)]

        def kept(row, what=0):
            place = builder.add(builder.mul(row, at(1 + n_shape)), at(what))
            return scratch, builder.mul(place, at(WIDTH))

        def objective(row, tops):
            q = zero
            for weight, variable in zip(weights, variables(row, 0), strict=True):
                q = emit.fma(weight, variable, q)
            emit.store(q, *kept(row))
            return [emit.max(q, tops[0])]

        (top,) = emit.over_rows(n_rows, objective, [zero])

        def exponential(row, totals):
            e = emit.power_of_two(emit.max(emit.sub(emit.load(*kept(row)), top), lowest))
            emit.store(e, *kept(row))
            return [emit.add(totals[0], e)]

        chosen = emit.power_of_two(emit.max(emit.sub(zero, top), lowest))
        (mass,) = emit.over_rows(n_rows, exponential, [chosen])
        share = builder.fdiv(emit.all(1.0), mass)

        def means(row, before):
            p, away = emit.mul(emit.load(*kept(row)), share), variables(row, 0)
            emit.store(p, *kept(row))
            changes = [variables(row, 1 + q) for q in range(n_shape)]
            added = []
            for q in range(n_shape):
                slope = emit.mul(plain[0], changes[q][0])
                for a in range(1, d):
                    slope = emit.fma(plain[a], changes[q][a], slope)
                emit.store(slope, *kept(row, 1 + q))
                added.append(slope)
            added += [changes[q][a] for a, q in of_changes] + away
            return [emit.fma(p, value, total) for value, total in zip(added, before, strict=True)]

        found = emit.over_rows(n_rows, means, [zero] * (n_first + d))
        of_s_here, of_away_here = found[:n_shape], found[n_first:]
        first = [emit.add(*both) for both in zip(found, carried[:n_first], strict=False)]

        def with_products(p, away, s, before):
            part, bent = [emit.mul(p, z) for z in away], [emit.mul(p, z) for z in s]
            added = [(part[a], away[c]) for a, c in of_away]
            added += [(part[a], s[q]) for a, q in of_both]
            added += [(bent[q], s[o]) for q, o in of_slopes]
            return [emit.fma(*both, total) for both, total in zip(added, before, strict=True)]

        def products(row, before):
            # less their means before they are multiplied: no large number is taken from another
            away = [emit.sub(*both) for both in zip(variables(row, 0), of_away_here, strict=True)]
            slopes = [emit.load(*kept(row, 1 + q)) for q in range(n_shape)]
            s = [emit.sub(*both) for both in zip(slopes, of_s_here, strict=True)]
            return with_products(emit.load(*kept(row)), away, s, before)

        second = emit.over_rows(n_rows, products, carried[n_first:])
        own = emit.mul(chosen, share)  # of the option chosen, all of whose differences are 0
        return [*first, *with_products(own, of_away_here, of_s_here, second)]

    n_sums = n_slope_sums(d, n_shape)
    n_vectors = builder.mul(n_blocks, at(n_parts))
    ends = emit.over_rows(n_vectors, of_vector, [zero] * n_sums)
    for j, end in enumerate(ends):
        builder.store(emit.joined(end, emit.add), builder.gep(sums, [at(j)]))


def _lay_out_sets(builder, arguments, m, d):
    """Instructions of `lay_out_sets` for m options of d variables."""
    table, chosen, n_blocks, values = arguments
    emit, width = Emit(builder), m * d

    def of_block(b, carried):
        first = builder.mul(b, at(LANES * width))
        rows = [builder.gep(table, [builder.add(first, at(lane * width))]) for lane in range(LANES)]
        place = builder.bitcast(
            builder.gep(chosen, [builder.mul(b, at(LANES))]), emit.ints.as_pointer()
        )
        taken = builder.load(place)
        taken.align = 8
        columns = _columns(emit, rows, width)
        to = builder.mul(b, at((m - 1) * d * LANES))
        for a in range(d):
            x = columns[a::d]
            own = x[0]
            for i in range(1, m):
                own = builder.select(builder.icmp_signed("==", taken, emit.all_ints(i)), x[i], own)
            for i in range(m - 1):
                after = builder.icmp_signed("<=", taken, emit.all_ints(i))
                apart = builder.fsub(builder.select(after, x[i + 1], x[i]), own)
                emit.store(apart, values, builder.add(to, at((i * d + a) * LANES)))
        return []

    emit.over_rows(n_blocks, of_block, [])


def _columns(emit, rows, width):
    """Vectors of the numbers that eight rows have at each place."""
    found = []
    while width - len(found) >= LANES:
        loaded = [emit.load(row, at(len(found))) for row in rows]
        found += transposed(emit, loaded)
    rest = width - len(found)
    if found and rest >= 3:
        found += transposed(emit, [emit.load(row, at(width - LANES)) for row in rows])[-rest:]
    for j in range(len(found), width):
        found += _gathered(emit.builder, [emit.builder.gep(row, [at(j)]) for row in rows], 1)
    return found


def transposed(emit, rows):
    """Eight vectors with their numbers changed places: halves, quarters, neighbours."""
    index = ir.VectorType(_SMALL_INT, LANES)
    for step in (4, 2, 1):
        low = [j if not j & step else LANES + j - step for j in range(LANES)]
        high = [j + step if not j & step else LANES + j for j in range(LANES)]
        masks = [ir.Constant(index, numbers) for numbers in (low, high)]
        for k in range(LANES):
            if not k & step:
                both = rows[k], rows[k + step]
                rows[k], rows[k + step] = (emit.builder.shuffle_vector(*both, m) for m in masks)
    return rows


class _Blocks:
    """Some decisions of each of several blocks: rows relative to the chosen option, and theta.

    As many decisions as there are lanes: sums of all eight would not stay in few registers. Of each
    block, what one loop leaves to the next is noted behind the rows of the scratch. In plain blocks
    every decision weighs 1, and nothing fills up.
    """

    TOP, MASS, MEANS = 0, 1, 2

    def __init__(self, emit, pointers, sizes, d, n_columns, part, plain=False):
        builder = emit.builder
        self.emit, self.builder, self.part, self.plain = emit, builder, part, plain
        self.n_rows, self.n_blocks = sizes
        self.n_all = builder.mul(*sizes)
        self.d, self.n_columns, self.pointers = d, n_columns, pointers
        # Where weights are in units of log 2, an exponential takes one product fewer. They are
        # rounded, as theta is; an offset may be large and exact, and is not multiplied.
        self.unit, self.exp = _LN2, emit.power_of_two
        if n_columns > d:
            self.unit, self.exp = 1.0, emit.exp_of_sum
        self.values, self.theta, side, scratch, total = pointers
        notes = builder.gep(scratch, [builder.mul(self.n_all, at(LANES))])
        first = builder.mul(part, at(emit.lanes))
        self.rows, self.side, self.scratch, self.notes, self.total = (
            builder.gep(pointer, [first]) for pointer in (self.values, side, scratch, notes, total)
        )
        self.fetched = _fetched(d, n_columns, isinstance(self.n_rows, ir.Constant))

    def over(self, n, body):
        """Go over blocks or tiles, one after the other."""

        def carrying_nothing(i, carried):
            body(i)
            return []

        self.emit.over_rows(n, carrying_nothing, [])

    def over_parts(self, lanes, verb):
        """Do something with some decisions of each block at a time, as many as there are lanes."""
        sizes = self.n_rows, self.n_blocks

        def of_part(i):
            emit = Emit(self.builder, lanes)
            verb(_Blocks(emit, self.pointers, sizes, self.d, self.n_columns, i, self.plain))

        self.over(at(LANES // lanes), of_part)

    def over_rows(self, k, body, starts):
        """Loop over rows of a block, counted from the first row of all blocks."""
        first = self.builder.mul(k, self.n_rows)
        return self.emit.over_rows(
            self.n_rows, lambda r, carried: body(self.builder.add(first, r), carried), starts
        )

    def number(self, name):
        """Of a variable that is named by a first one, and how many come before it from there."""
        return self.builder.add(name[0], at(name[1]))

    def variable(self, row, name):
        base = self.builder.mul(row, at(self.n_columns * LANES))
        place = self.builder.mul(self.number(name), at(LANES))
        return self.emit.load(self.rows, self.builder.add(base, place))

    def e(self, row):
        return self.emit.load(self.scratch, self.builder.mul(row, at(LANES)))

    def keep_e(self, row, value):
        self.emit.store(value, self.scratch, self.builder.mul(row, at(LANES)))

    def place(self, k, what):
        base = self.builder.mul(k, at((self.MEANS + self.d) * LANES))
        return self.builder.add(base, self.builder.mul(what, at(LANES)))

    def noted(self, k, what):
        return self.emit.load(self.notes, self.place(k, what))

    def note(self, k, what, value):
        self.emit.store(value, self.notes, self.place(k, what))

    def weight(self, k):
        if self.plain:
            return self.emit.all(1.0)
        return self.emit.load(self.side, self.builder.mul(k, at(2 * LANES)))

    def filling(self, k):
        place = self.builder.mul(k, at(2 * LANES))
        return self.emit.load(self.side, self.builder.add(place, at(LANES)))

    def not_filling(self, k):
        """The chosen option, without the rows that only fill up the block: they have q = 0, too."""
        if self.plain:
            return self.emit.all(1.0)
        return self.emit.sub(self.emit.all(1.0), self.filling(k))

    def n_plain(self):
        """How many blocks are plain: all, all but the last, or else none is taken for one."""
        emit, builder = self.emit, self.builder
        none = ir.Constant(emit.ints, [0] * emit.lanes)
        one = builder.bitcast(emit.all(1.0), emit.ints)

        def apart(k):
            other = builder.xor(builder.bitcast(self.weight(k), emit.ints), one)
            return builder.or_(other, builder.bitcast(self.filling(k), emit.ints))

        def body(k, carried):
            both = builder.or_(builder.bitcast(carried[0], emit.ints), apart(k))
            return [builder.bitcast(both, emit.vector)]

        last = builder.sub(self.n_blocks, at(1))
        start = builder.bitcast(none, emit.vector)
        (before,) = emit.over_rows(last, body, [start])
        uneven = self.any_of(builder.icmp_unsigned("!=", builder.bitcast(before, emit.ints), none))
        last_is_not = self.any_of(builder.icmp_unsigned("!=", apart(last), none))
        whole = builder.select(last_is_not, last, self.n_blocks)
        return builder.select(uneven, at(0), whole)

    def any_of(self, lanes):
        """Whether something is true of any lane."""
        bits = self.builder.bitcast(lanes, ir.IntType(self.emit.lanes))
        return self.builder.icmp_unsigned("!=", bits, bits.type(0))

    def add_to(self, slot, value):
        index = self.builder.mul(slot, at(LANES))
        self.emit.store(self.emit.add(self.emit.load(self.total, index), value), self.total, index)

    def fetch_next(self, row, loop):
        """Ask for rows to come while these keep the processor busy.

        From memory those of the blocks after the next, from the cache behind those of the next:
        what is asked for from memory at once would keep nearer things waiting.
        """
        builder, (n, before) = self.builder, self.fetched[loop]
        lines = builder.mul(self.n_all, at(self.n_columns))
        first = builder.mul(self.n_all, builder.add(at(before), builder.mul(self.part, at(n))))
        first = builder.add(builder.add(first, lines), builder.mul(row, at(n)))
        for i in range(n):
            line = builder.add(first, at(i))
            self.emit.fetch(self.values, builder.mul(line, at(LANES)), nearest=True)
            later = builder.add(line, lines)
            self.emit.fetch(self.values, builder.mul(later, at(LANES)), nearest=False)

    def add_values(self):
        """Add log-likelihoods; keep e = exp(q - top) of every row, note the sum of e."""
        builder = self.builder
        places = [builder.gep(self.theta, [at(a)]) for a in range(self.n_columns)]
        theta = [builder.load(place) for place in places]
        if isinstance(self.n_rows, ir.Constant):
            self.add_values_of_pairs(theta)
        else:
            self.many_exponentials(theta)
            self.over(self.n_blocks, self.add_value)

    def scaled(self, theta):
        """Weights in units in which exponentials are taken, one in every lane."""
        units = ir.Constant(DOUBLE, 1.0 / self.unit)
        return [self.emit.spread(self.builder.fmul(x, units)) for x in theta]

    def add_values_of_pairs(self, theta):
        """The same where sets have two options: of the two exponentials, the larger is 1.

        Their sum lies between 1 and 2: where decisions weigh 1 it goes into the product.
        """
        emit, weights = self.emit, self.scaled(theta)
        n_sums = 1 + self.d + self.d * (self.d + 1) // 2
        of_value, of_product = (self.total, at(0)), (self.total, at(n_sums * LANES))

        def of_block(k, carried):
            mass, top = self.two_exponentials(k, weights)
            value, product = carried
            if self.plain:
                return [emit.sub(value, top), emit.mul(product, mass)]
            loss = emit.add(self.logarithm(k, mass), top)
            product = emit.mul(product, self.of_weight_one(k, mass))
            return [emit.sub(value, emit.mul(self.weight(k), loss)), product]

        product = emit.max(emit.load(*of_product), emit.all(1.0))
        ends = emit.over_rows(self.n_blocks, of_block, [emit.load(*of_value), product])
        for place, end in zip((of_value, of_product), ends, strict=True):
            emit.store(end, *place)

    def weighs_one(self, k):
        return self.builder.fcmp_ordered("==", self.weight(k), self.emit.all(1.0))

    def of_weight_one(self, k, mass):
        return self.builder.select(self.weighs_one(k), mass, self.emit.all(1.0))

    def logarithm(self, k, mass):
        """Logarithms of sums of exponentials that do not go into the product."""
        return self.emit.log(self.builder.select(self.weighs_one(k), self.emit.all(1.0), mass))

    def many_exponentials(self, theta):
        builder = self.builder
        is_zero = ir.Constant(ir.IntType(1), 1)
        for number in theta:
            zero = builder.fcmp_ordered("==", number, ir.Constant(DOUBLE, 0.0))
            is_zero = builder.and_(is_zero, zero)
        with builder.if_else(is_zero) as (where_zero, elsewhere):
            with where_zero:
                self.over(self.n_blocks, self.ones)
            with elsewhere:
                self.objectives(self.scaled(theta))
                self.over_parts(AT_A_TIME, _Blocks.add_exponentials)

    def objectives(self, weights):
        """Keep q = theta'x of every row, the chosen option's being 0; note what sums begin with.

        Only where an exponential might be too large or too small is the largest q of a decision
        taken from all of its own: it asks for one more loop, and for one more exponential.
        """
        emit, builder = self.emit, self.builder

        def body(row, carried):
            q = self.objective(row, weights)
            self.keep_e(row, q)
            return [emit.max(emit.absolute(q), carried[0])]

        (farthest,) = emit.over_rows(self.n_all, body, [emit.all(0.0)])
        is_far = builder.fcmp_ordered(">", farthest, emit.all(FAR / self.unit))
        with builder.if_else(self.any_of(is_far)) as (far, near):
            with far:
                self.over(self.n_blocks, self.shift)
            with near:
                self.over(self.n_blocks, self.leave)

    def objective(self, row, weights):
        """Sum of weighted variables of a row."""
        q = self.emit.mul(weights[0], self.variable(row, (at(0), 0)))
        for a in range(1, self.n_columns):
            q = self.emit.fma(weights[a], self.variable(row, (at(0), a)), q)
        return q

    def shift(self, k):
        """Take the largest q, where it is high, from all; a decision's own, whatever the others."""
        emit, lowest = self.emit, self.emit.all(_SMALLEST / self.unit)
        zero = [emit.all(0.0)]
        (top,) = self.over_rows(k, lambda row, c: [emit.max(self.e(row), c[0])], zero)
        is_high = self.builder.fcmp_ordered(">", top, emit.all(FAR / self.unit))
        shift = self.builder.select(is_high, top, emit.all(0.0))

        def body(row, carried):
            q = emit.max(emit.sub(self.e(row), shift), lowest)
            self.keep_e(row, q)
            return []

        self.over_rows(k, body, [])
        chosen = self.exp(emit.max(emit.sub(emit.all(0.0), shift), lowest))
        self.note(k, at(self.TOP), emit.mul(shift, emit.all(self.unit)))
        self.note(k, at(self.MASS), emit.mul(chosen, self.not_filling(k)))

    def leave(self, k):
        """The same where none is far."""
        self.note(k, at(self.TOP), self.emit.all(0.0))
        self.note(k, at(self.MASS), self.not_filling(k))

    def add_exponentials(self):
        """Take exponentials of all blocks."""
        self.over(self.n_blocks, self.exponentials)

    def exponentials(self, k):
        """Replace q by exp q; note the sum over the options, chosen included."""

        def body(row, carried):
            (total,) = carried
            self.fetch_next(row, 0)
            e = self.exp(self.e(row))
            self.keep_e(row, e)
            return [self.emit.add(total, e)]

        (total,) = self.over_rows(k, body, [self.noted(k, at(self.MASS))])
        self.note(k, at(self.MASS), total)

    def ones(self, k):
        """The same where theta = 0: every exponential is 1, and none need be taken."""

        def body(row, carried):
            self.keep_e(row, self.emit.all(1.0))
            return []

        self.over_rows(k, body, [])
        others = self.emit.spread(self.builder.sitofp(self.n_rows, DOUBLE))
        self.note(k, at(self.TOP), self.emit.all(0.0))
        self.note(k, at(self.MASS), self.emit.add(others, self.not_filling(k)))

    def two_exponentials(self, k, weights):
        """Keep e = exp(q - top) of the option not chosen; the sum of both, noted, and the top."""
        emit, zero = self.emit, self.emit.all(0.0)
        self.fetch_next(k, 0)
        q = self.objective(k, weights)
        top = self.builder.select(self.builder.fcmp_unordered(">", q, zero), q, zero)  # NaN stays
        lowest = emit.all(_SMALLEST / self.unit)
        small = self.exp(emit.max(emit.sub(zero, emit.absolute(q)), lowest))
        other_wins = self.builder.fcmp_ordered(">", q, zero)
        e = self.builder.select(other_wins, emit.all(1.0), small)
        chosen = self.builder.select(other_wins, small, emit.all(1.0))
        mass = emit.add(emit.mul(chosen, self.not_filling(k)), e)
        self.keep_e(k, e)
        self.note(k, at(self.MASS), mass)
        return mass, emit.mul(top, emit.all(self.unit))

    def add_value(self, k):
        """Add log-likelihoods of a block."""
        emit, weight, mass = self.emit, self.weight(k), self.noted(k, at(self.MASS))
        loss = emit.mul(weight, emit.add(emit.log(mass), self.noted(k, at(self.TOP))))
        self.add_to(at(0), emit.sub(emit.all(0.0), loss))
        if self.d <= FEW:
            self.weigh(k, weight, mass)

    def add_products(self):
        """Add gradient and information to the total."""
        if self.d <= FEW:
            add = self.add_pairs if isinstance(self.n_rows, ir.Constant) else self.add_strip
            for loop, (first, high) in enumerate(_strips(self.d), 1):
                add(range(first, first + high), loop)
            return
        variables, most = [(at(0), a) for a in range(self.d)], REGISTERS - 4
        for first in range(0, self.d, most):
            some = variables[first : first + most]
            self.over(self.n_blocks, lambda k, some=some: self.add_means(k, some))
        if self.d <= WRITTEN_OUT:
            for loop, (first, high) in enumerate(_strips(self.d), 2):
                self.add_tile((at(first), high), (at(0), first), loop=loop)
            return
        n_whole, rest = divmod(self.d, TILE)

        def row_of_tiles(i, size):
            left = self.builder.mul(i, at(TILE)), size
            self.add_tile(left, (left[0], 0))
            self.over(
                i, lambda j: self.add_tile(left, (self.builder.mul(j, at(TILE)), TILE), own=False)
            )

        self.over(at(n_whole), lambda i: row_of_tiles(i, TILE))
        if rest:
            row_of_tiles(at(n_whole), rest)

    def carry(self, places, of_block):
        """Sums that stay in registers from the first block to the last: as if one by one."""
        starts = [self.emit.load(*place) for place in places]
        ends = self.emit.over_rows(self.n_blocks, of_block, starts)
        for place, value in zip(places, ends, strict=True):
            self.emit.store(value, *place)

    def add_strip(self, strip, loop):
        """Add what few variables need, summed in one loop: their means are known after it.

        For the variables of a strip, and all up to them: sum w p x_a x_c over rows, and after the
        last of a block less w mean_a mean_c.
        """
        emit, variables = self.emit, range(strip.stop)
        pairs = [(a, c) for a in strip for c in range(a + 1)]
        is_first, is_last = strip.start == 0, strip.stop == self.d

        def of_row(row, carried, weighted):
            self.fetch_next(row, loop)
            p = self.e(row)
            if is_first:
                p = emit.mul(p, weighted)
            if is_first and not is_last:
                self.keep_e(row, p)
            x = [self.variable(row, (at(0), a)) for a in variables]
            part = {a: emit.mul(p, x[a]) for a in strip}
            added = [emit.mul(part[a], x[c]) for a, c in pairs] + list(part.values())
            return [emit.add(value, total) for value, total in zip(added, carried, strict=True)]

        def of_block(k, totals):
            weighted = self.noted(k, at(self.MASS)) if is_first else None
            starts = [*totals, *[emit.all(0.0)] * len(strip)]
            ends = self.over_rows(k, lambda row, carried: of_row(row, carried, weighted), starts)
            slots = [at(self.MEANS + a) for a in variables]
            sums = [self.noted(k, slot) for slot in slots[: strip.start]] + ends[len(pairs) :]
            mean = {a: emit.mul(sums[a], self.noted(k, at(self.TOP))) for a in strip}
            for a in strip:
                self.note(k, slots[a], sums[a])
                self.add_to(at(1 + a), sums[a])
            return [
                emit.sub(total, emit.mul(mean[a], sums[c]))
                for (a, c), total in zip(pairs, ends, strict=False)
            ]

        self.carry(self.places([((at(0), a), (at(0), c)) for a, c in pairs]), of_block)

    def weigh(self, k, weight, mass):
        """Note 1 / weight in place of the top, and what makes e the weighted p in that of the mass.

        Both are done with. One division for the two: noted before the loop over rows that begins
        with it, which would wait for it. Where the weight is nothing, so is all that is weighed.
        """
        emit = self.emit
        counts = self.builder.fcmp_ordered(">", weight, emit.all(LIGHTEST))
        positive = self.builder.select(counts, weight, emit.all(1.0))
        both = self.builder.fdiv(emit.all(1.0), emit.mul(positive, mass))
        self.note(k, at(self.TOP), emit.mul(both, mass))
        self.note(k, at(self.MASS), emit.mul(weight, emit.mul(both, positive)))

    def add_pairs(self, strip, loop):
        """The same where sets have two options: w p x_a, and w p (1 - p) x_a x_c."""
        emit = self.emit
        pairs = [(a, c) for a in strip for c in range(a + 1)]

        def of_block(k, totals):
            self.fetch_next(k, loop)
            if strip.start == 0:
                p = emit.mul(self.e(k), self.share(k))
                first = emit.mul(self.weight(k), p)
                second = emit.sub(first, emit.mul(first, p))
                self.keep_e(k, first)
                self.note(k, at(self.TOP), second)
            else:
                first, second = self.e(k), self.noted(k, at(self.TOP))
            x = [self.variable(k, (at(0), a)) for a in range(strip.stop)]
            part = {a: emit.mul(second, x[a]) for a in strip}
            added = [emit.mul(part[a], x[c]) for a, c in pairs]
            added += [emit.mul(first, x[a]) for a in strip]
            return [emit.add(value, total) for value, total in zip(added, totals, strict=True)]

        places = self.places([((at(0), a), (at(0), c)) for a, c in pairs])
        self.carry([*places, *[(self.total, at((1 + a) * LANES)) for a in strip]], of_block)

    def share(self, k):
        return self.builder.fdiv(self.emit.all(1.0), self.noted(k, at(self.MASS)))

    def add_means(self, k, variables):
        """Add minus the gradient, note means; with the last, e turns into the weighted p."""
        emit, builder = self.emit, self.builder
        weight, share = self.weight(k), self.share(k)
        weighted = emit.mul(weight, share)
        is_last = variables[-1][1] == self.d - 1

        def body(row, carried):
            e = self.e(row)
            if is_last:
                self.fetch_next(row, 1)
                self.keep_e(row, emit.mul(e, weighted))
            return [
                emit.fma(e, self.variable(row, a), total)
                for a, total in zip(variables, carried, strict=True)
            ]

        sums = self.over_rows(k, body, [emit.all(0.0)] * len(variables))
        for a, value in zip(variables, sums, strict=True):
            mean = emit.mul(value, share)
            self.note(k, self.slot_of_mean(a), mean)
            self.add_to(builder.add(self.number(a), at(1)), emit.mul(weight, mean))

    def add_tile(self, left, right, own=True, loop=None):
        """Add covariances of pairs of variables, sum p (x_a - mean_a) x_c: the chosen option has 0.

        left, right : first variable, and how many. a is of the left; c is of the right, and where
        `own` of the left up to a. The sums stay in registers from the first row of all blocks to
        the last, and no large number is taken from another: so that every digit is that of block
        after block, and what is tiny is not lost.
        loop : which one over rows it is, of those that are written out
        """
        emit = self.emit
        of_left = [(left[0], k) for k in range(left[1])]
        of_right = [(right[0], o) for o in range(right[1])]
        pairs = [(a, c) for k, a in enumerate(of_left) for c in of_left[: (k + 1) * own]]
        pairs += [(a, c) for a in of_left for c in of_right]

        def of_row(row, carried, mean):
            if loop is not None:
                self.fetch_next(row, loop)
            p = self.e(row)
            x = {a: self.variable(row, a) for a in of_left}
            apart = {a: emit.mul(p, emit.sub(x[a], mean[a])) for a in of_left}
            x |= {c: self.variable(row, c) for c in of_right}
            return [
                emit.fma(apart[a], x[c], total)
                for (a, c), total in zip(pairs, carried, strict=True)
            ]

        def of_block(k, sums):
            mean = {a: self.noted(k, self.slot_of_mean(a)) for a in of_left}
            return self.over_rows(k, lambda row, carried: of_row(row, carried, mean), sums)

        self.carry(self.places(pairs), of_block)

    def slot_of_mean(self, name):
        return self.builder.add(self.number(name), at(self.MEANS))

    def places(self, pairs):
        """Pointer and index of the sum of each pair in the total."""
        builder, rows = self.builder, {}
        for a, (first, _) in pairs:
            if (a, first) not in rows:
                number = self.number(a)
                before = builder.lshr(builder.mul(number, builder.add(number, at(1))), at(1))
                slot = builder.add(builder.add(before, first), at(1 + self.d))
                rows[a, first] = builder.gep(self.total, [builder.mul(slot, at(LANES))])
        return [(rows[a, first], at(o * LANES)) for a, (first, o) in pairs]
