"""Vector (SIMD) kernels: log-likelihood, gradient and information of eight decisions at once.

The sums of Eq. (5) are written as LLVM instructions with llvmlite, blocked for registers (the sums
of a tile of variable pairs stay in registers, as in the matrix product of Goto and van de Geijn,
2008), because numba's own vectoriser is 2 to 9 times slower here. `moment_kernel` compiles the code
for a number of variables and gives its address to numba loops, which are themselves compiled once
for every number of variables. Relies on numba's intrinsics and on the processor's features.
"""

import math
from threading import Lock
from typing import Any

from llvmlite import binding, ir
from numba.core import config, types
from numba.extending import intrinsic

from penchant._compiled import njit

LANES = 8  # decisions per block: the doubles of one AVX-512 register, or of one cache line

DOUBLE = ir.DoubleType()
INT = ir.IntType(64)

_INT32 = ir.IntType(32)
_FUSED = ("contract",)  # products and sums may be fused: faster, and one rounding fewer
_LOG2_E = 1.4426950408889634
_LN2 = 0.6931471805599453
# log 2 in two parts (Cody and Waite, 1980): k * high is exact for every exponent k of a double, so
# that reducing the argument of an exponential loses no digit.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# 1.5 * 2**52: adding it to a double rounds it to an integer, which is left in the low bits.
_ROUNDING_SHIFT = 6755399441055744.0
_MIN_EXP_ARGUMENT = -708.0  # exp of less is subnormal: slow, and nothing beside the largest, 1
# exp r to 4e-17 for |r| <= log(2)/2: the Taylor series with its later terms adjusted to interpolate
# at Chebyshev nodes, which needs fewer terms than the plain series.
_EXP_COEFFICIENTS = [
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
# 2^r for |r| <= 1/2, made like the coefficients above. Powers of 2 save a multiplication per
# option: splitting the argument into a whole exponent and a rest needs no factor log 2.
_EXP2_COEFFICIENTS = [
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
# The double sqrt(1/2) as an integer. `log` takes mantissas between sqrt(1/2) and sqrt(2), around 1,
# where its series converges fastest, rather than between 1 and 2.
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


def i64(number):
    """Constant of LLVM's type i64: an index or a length known when the kernel is compiled."""
    return ir.Constant(INT, number)


class VectorBuilder:
    """Arithmetic on vectors of `lanes` doubles, emitted through one LLVM builder."""

    def __init__(self, builder, lanes=LANES):
        self.builder = builder
        self.lanes = lanes
        self.vector = ir.VectorType(DOUBLE, lanes)
        self.ints = ir.VectorType(INT, lanes)

    def splat(self, number):
        return ir.Constant(self.vector, [ir.Constant(DOUBLE, number)] * self.lanes)

    def splat_ints(self, number):
        return ir.Constant(self.ints, [ir.Constant(INT, number)] * self.lanes)

    def broadcast(self, scalar):
        """Copy a scalar to every lane."""
        one = self.builder.insert_element(
            ir.Constant(self.vector, ir.Undefined), scalar, ir.Constant(_INT32, 0)
        )
        zeros = ir.Constant(ir.VectorType(_INT32, self.lanes), [0] * self.lanes)
        return self.builder.shuffle_vector(one, one, zeros)

    def load(self, pointer, index):
        position = self.builder.gep(pointer, [index])
        value = self.builder.load(self.builder.bitcast(position, self.vector.as_pointer()))
        value.align = 8
        return value

    def store(self, value, pointer, index):
        position = self.builder.gep(pointer, [index])
        self.builder.store(value, self.builder.bitcast(position, self.vector.as_pointer()), align=8)

    def add(self, a, b):
        return self.builder.fadd(a, b, flags=_FUSED)

    def sub(self, a, b):
        return self.builder.fsub(a, b, flags=_FUSED)

    def mul(self, a, b):
        return self.builder.fmul(a, b, flags=_FUSED)

    def fma(self, a, b, c):
        """a * b + c."""
        return self.add(self.mul(a, b), c)

    def prefetch(self, pointer, index, nearest=True):
        """Prefetch a cache line; an address beyond the end of an array does no harm."""
        address = ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [address, *[_INT32] * 3])
        prefetch = self.builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        position = self.builder.bitcast(self.builder.gep(pointer, [index]), address)
        for_reading, keep_close, data = _INT32(0), _INT32(2 + nearest), _INT32(1)
        self.builder.call(prefetch, [position, for_reading, keep_close, data])

    def absolute(self, x):
        """|x| by clearing the sign bit."""
        bits = self.builder.bitcast(x, self.ints)
        return self.builder.bitcast(
            self.builder.and_(bits, self.splat_ints(2**63 - 1)), self.vector
        )

    def max(self, a, b):
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def polynomial(self, coefficients, x):
        """Evaluate a polynomial by Horner's rule on even and odd powers: two independent chains."""
        square, chains = self.mul(x, x), []
        for terms in (coefficients[::2], coefficients[1::2]):
            total = self.splat(terms[-1])
            for c in terms[-2::-1]:
                total = self.fma(total, square, self.splat(c))
            chains.append(total)
        return self.fma(chains[1], x, chains[0])

    def exp(self, x):
        """exp for x <= 700, to about 1 unit in the last place; 3e-308 for x below -708.

        x = k log 2 + r; exp x = 2^k exp r.
        """
        # below, the exponent would overflow into the sign bit
        inside = self.max(x, self.splat(_MIN_EXP_ARGUMENT))
        shifted = self.fma(inside, self.splat(_LOG2_E), self.splat(_ROUNDING_SHIFT))
        k = self.builder.fsub(shifted, self.splat(_ROUNDING_SHIFT))
        r = self.fma(k, self.splat(-_LN2_HIGH), inside)
        r = self.fma(k, self.splat(-_LN2_LOW), r)
        return self.scale_by_power_of_two(self.polynomial(_EXP_COEFFICIENTS, r), shifted)

    def scale_by_power_of_two(self, x, shifted):
        """2^k x, by adding k, the low bits of `shifted`, to the exponent bits of x."""
        bits = self.builder.bitcast(x, self.ints)
        power = self.builder.shl(self.builder.bitcast(shifted, self.ints), self.splat_ints(52))
        return self.builder.bitcast(self.builder.add(bits, power), self.vector)

    def exp_of_sum(self, x):
        """exp for |x| <= 708, where x is a rounded sum: cheaper than `exp`, by a one-part log 2.

        x / log 2 = k + r; exp x = 2^k 2^r. The error is about 1 unit in the last place plus the
        effect of 1/16 of a unit of x, or of a whole one on processors without fused multiply-add.
        """
        shifted = self.fma(x, self.splat(_LOG2_E), self.splat(_ROUNDING_SHIFT))
        k = self.builder.fsub(shifted, self.splat(_ROUNDING_SHIFT))
        r = self.sub(self.mul(x, self.splat(_LOG2_E)), k)
        return self.scale_by_power_of_two(self.polynomial(_EXP2_COEFFICIENTS, r), shifted)

    def power_of_two(self, x):
        """2^x for |x| <= 1022, to about 1 unit in the last place: x = k + r; 2^x = 2^k 2^r."""
        shifted = self.add(x, self.splat(_ROUNDING_SHIFT))
        k = self.builder.fsub(shifted, self.splat(_ROUNDING_SHIFT))
        return self.scale_by_power_of_two(
            self.polynomial(_EXP2_COEFFICIENTS, self.sub(x, k)), shifted
        )

    def log(self, x):
        """log for normal x > 0: x = 2^k m, log m by the series of atanh((m - 1)/(m + 1))."""
        bits = self.builder.bitcast(x, self.ints)
        k = self.builder.ashr(
            self.builder.sub(bits, self.splat_ints(_SQRT_HALF_BITS)), self.splat_ints(52)
        )
        m = self.builder.bitcast(
            self.builder.sub(bits, self.builder.shl(k, self.splat_ints(52))), self.vector
        )
        f = self.builder.fdiv(self.sub(m, self.splat(1.0)), self.add(m, self.splat(1.0)))
        square = self.mul(f, f)
        # the odd series converges fast: |f| <= 0.172, where ten terms reach the last digit
        tail = self.polynomial([2.0 / (2 * j + 3) for j in range(10)], square)
        exponent = self.builder.sitofp(k, self.vector)
        small = self.fma(exponent, self.splat(_LN2_LOW), self.mul(self.mul(f, square), tail))
        log_m = self.add(self.add(f, f), small)
        return self.fma(exponent, self.splat(_LN2_HIGH), log_m)

    def reduce_lanes(self, x, combine):
        """Reduce all lanes to one number by combining halves: a fixed order of additions."""
        n = self.lanes
        while n > 1:
            n //= 2
            low, high = (
                ir.Constant(ir.VectorType(_INT32, n), list(range(first, first + n)))
                for first in (0, n)
            )
            x = combine(
                self.builder.shuffle_vector(x, x, low), self.builder.shuffle_vector(x, x, high)
            )
        return self.builder.extract_element(x, ir.Constant(_INT32, 0))

    def loop_rows(self, n_rows, body, starts):
        """Emit a loop over rows that carries vectors in registers; returns their last values."""
        # one row, as in sets of two options, is the commonest case: unrolled, it needs no branch
        if isinstance(n_rows, ir.Constant) and n_rows.constant == 1:
            return body(i64(0), starts)
        before = self.builder.block
        head = self.builder.append_basic_block("rows")
        after = self.builder.append_basic_block("rows.end")
        empty = self.builder.icmp_signed("<=", n_rows, i64(0))
        self.builder.cbranch(empty, after, head)
        self.builder.position_at_end(head)
        row = self.builder.phi(INT)
        carried = [self.builder.phi(self.vector) for _ in starts]
        ends = body(row, carried)
        tail = self.builder.block
        following = self.builder.add(row, i64(1))
        row.add_incoming(i64(0), before)
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


def _in_place_intrinsic(function):
    """Intrinsic that replaces values[first : first + 8] by a method of `VectorBuilder` of them."""

    def replace(typingctx, values, first):
        def build(context, builder, signature, arguments):
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            emit = VectorBuilder(builder)
            numbers = emit.load(data, arguments[1])
            emit.store(getattr(emit, function)(numbers), data, arguments[1])
            return context.get_dummy_value()

        return types.void(values, types.int64), build

    return intrinsic(replace)


_exponentials_of_eight = _in_place_intrinsic("exp")
_logarithms_of_eight = _in_place_intrinsic("log")


@njit(nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
def exp_prefix_in_place(values, n):
    """Replace the first n values, rounded up to a multiple of 8, by their exponentials."""
    for first in range(0, n, LANES):
        _exponentials_of_eight(values, first)


@njit(cache=True, nogil=True, error_model="numpy")
def exp_in_place(values):
    """Replace values by their exponentials, to about 1 unit in the last place.

    values : (n,), n a multiple of 8, none above 700; below -708 it is 3e-308
    """
    exp_prefix_in_place(values, len(values))


@njit(cache=True, nogil=True, error_model="numpy")
def log_in_place(values):
    """Replace positive values, none of them subnormal, by their logarithms.

    values : (n,), n a multiple of 8
    """
    for first in range(0, len(values), LANES):
        _logarithms_of_eight(values, first)


@njit(cache=True, nogil=True, error_model="numpy")
def padded_length(n):
    """Round n up to a multiple of 8."""
    return (n + LANES - 1) // LANES * LANES


# Addresses of `block_moments` and `relative_rows`, number of variables, number of columns.
# Addresses, as numba would compile every caller anew for a function that is passed as a function.
MomentKernel = tuple[int, int, int, int]

_NUMBERS = types.CPointer(types.float64)
_PLACES = types.CPointer(types.int64)
_MOMENTS_SIGNATURE = types.void(
    _NUMBERS, types.int64, types.int64, _NUMBERS, _NUMBERS, _NUMBERS, _NUMBERS
)
_ROWS_SIGNATURE = types.void(_NUMBERS, _PLACES, types.int64, _PLACES, _NUMBERS, _NUMBERS)
_PAIR_SIGNATURE = types.void(_NUMBERS, types.int64, _NUMBERS, _NUMBERS)
_PAIR_SLOPES_SIGNATURE = types.void(_NUMBERS, types.int64, types.int64, _NUMBERS, _NUMBERS)
_SET_SLOPES_SIGNATURE = types.void(
    _NUMBERS, types.int64, types.int64, types.int64, _NUMBERS, _NUMBERS, _NUMBERS
)
_LAYOUT_SIGNATURE = types.void(_NUMBERS, _PLACES, types.int64, _NUMBERS)
called_by_address = njit(
    cache=True, nogil=True, error_model="numpy", _nrt=False, no_cpython_wrapper=True
)
_moment_kernels: dict[tuple[int, bool], tuple[MomentKernel, Any]] = {}
_compiled_kernels: dict[tuple[Any, int, int], tuple[int, Any]] = {}
_lock = Lock()


def moment_kernel(n_parameters: int, has_offset: bool) -> MomentKernel:
    """Compile the moment kernel for a number of variables, or return the one compiled before.

    Returns
    -------
    Addresses of `block_moments` and `relative_rows`, number of variables, and number of columns
    (one more than variables where there is an offset)
    """
    key = n_parameters, has_offset
    if key in _moment_kernels:
        return _moment_kernels[key][0]
    with _lock:  # compile once, also if several threads ask at the same time
        if key not in _moment_kernels:
            variables, offset = (0,) * n_parameters, (0,) * has_offset
            moments = _make_block_moments(variables, offset)
            rows = _make_relative_rows(variables, offset)
            addresses = address_of(moments, _MOMENTS_SIGNATURE), address_of(rows, _ROWS_SIGNATURE)
            kind = (*addresses, n_parameters, n_parameters + has_offset)
            _moment_kernels[key] = kind, (moments, rows)  # keeps the machine code alive
        return _moment_kernels[key][0]


def pair_moments_kernel(n_parameters: int) -> int:
    """Address of `pair_moments` for a number of variables; 0 where `block_moments` is as quick."""
    if n_parameters > MAX_PAIR_VARIABLES:
        return 0
    return _address_compiled_once(n_parameters, 0, _make_pair_moments, _PAIR_SIGNATURE)


def pair_slopes_kernel(n_parameters: int, n_shape: int) -> int:
    """Address of `pair_slopes` for variables and slopes of each; 0 if sums exceed registers."""
    n_sums = n_slope_sums(n_parameters, n_shape)
    # with short or few registers the sums would spill to memory in every row, and lose the gain
    if REGISTER_LANES == 2 or n_sums > N_REGISTERS - EXP_REGISTERS or not n_shape:
        return 0
    return _address_compiled_once(n_parameters, n_shape, _make_pair_slopes, _PAIR_SLOPES_SIGNATURE)


def n_slope_sums(n_parameters: int, n_shape: int) -> int:
    """Number of sums that `pair_slopes` and `set_slopes` fill."""
    return sum(len(names) for names in _slope_sum_indices(n_parameters, n_shape))


def set_slopes_kernel(n_parameters: int, n_shape: int) -> int:
    """Address of `set_slopes` for numbers of variables and of slopes of each."""
    return _address_compiled_once(n_parameters, n_shape, _make_set_slopes, _SET_SLOPES_SIGNATURE)


def set_layout_kernel(n_options: int, n_parameters: int) -> int:
    """Address of `lay_out_sets` for a size of sets; 0 where it would compile too long."""
    if n_options * n_parameters > MAX_LAYOUT_COLUMNS:
        return 0
    return _address_compiled_once(n_options, n_parameters, _make_set_layout, _LAYOUT_SIGNATURE)


def _address_compiled_once(
    first_count: int, second_count: int, make_function: Any, signature: Any
) -> int:
    """Address of a kernel that is specialised for two numbers, compiled at the first request."""
    key = make_function, first_count, second_count
    if key not in _compiled_kernels:
        with _lock:
            if key not in _compiled_kernels:
                made = make_function((0,) * first_count, (0,) * second_count)
                _compiled_kernels[key] = address_of(made, signature), made
    return _compiled_kernels[key][0]


def address_of(function: Any, signature: Any) -> int:
    """Compile a function for a signature and return its address, for calls from other loops."""
    made = function.get_compile_result(signature)
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))


def _make_block_moments(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """Compile `block_moments` for a number of variables.

    Numbers are passed as lengths of tuples: these are types, and so part of numba's cache key.
    """

    @called_by_address
    def moments(values, n_rows, n_blocks, theta, side, scratch, total):
        _block_moments_intrinsic(
            values, n_rows, n_blocks, theta, side, scratch, total, variables, offset
        )

    return moments


def _make_relative_rows(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """`relative_rows` for a number of variables."""

    @called_by_address
    def rows(table, sources, n_rows, references, values, size):
        _relative_rows_intrinsic(
            table, sources, n_rows, references, values, size, variables, offset
        )

    return rows


def _make_pair_slopes(variables: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """`pair_slopes` for a number of variables, and of slopes of each."""

    @called_by_address
    def slopes(columns, stride, n_blocks, theta, sums):
        _pair_slopes_intrinsic(columns, stride, n_blocks, theta, sums, variables, shape)

    return slopes


@intrinsic
def _pair_slopes_intrinsic(typingctx, columns, stride, n_blocks, theta, sums, variables, shape):
    def build(context, builder, signature, arguments):
        _align_stack(builder)
        _emit_pair_slopes(builder, arguments[:5], len(variables), len(shape))
        return context.get_dummy_value()

    return types.void(columns, stride, n_blocks, theta, sums, variables, shape), build


def _make_set_slopes(variables: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """`set_slopes` for a number of variables, and of slopes of each."""

    @called_by_address
    def slopes(values, plane, n_rows, n_blocks, theta, scratch, sums):
        _set_slopes_intrinsic(
            values, plane, n_rows, n_blocks, theta, scratch, sums, variables, shape
        )

    return slopes


@intrinsic
def _set_slopes_intrinsic(
    typingctx, values, plane, n_rows, n_blocks, theta, scratch, sums, variables, shape
):
    def build(context, builder, signature, arguments):
        _align_stack(builder)
        _emit_set_slopes(builder, arguments[:7], len(variables), len(shape))
        return context.get_dummy_value()

    given = values, plane, n_rows, n_blocks, theta, scratch, sums, variables, shape
    return types.void(*given), build


def _make_set_layout(options: tuple[int, ...], variables: tuple[int, ...]) -> Any:
    """`lay_out_sets` for a number of options, and of variables."""

    @called_by_address
    def layout(table, chosen, n_blocks, values):
        _set_layout_intrinsic(table, chosen, n_blocks, values, options, variables)

    return layout


@intrinsic
def _set_layout_intrinsic(typingctx, table, chosen, n_blocks, values, options, variables):
    def build(context, builder, signature, arguments):
        _emit_set_layout(builder, arguments[:4], len(options), len(variables))
        return context.get_dummy_value()

    return types.void(table, chosen, n_blocks, values, options, variables), build


def _make_pair_moments(variables: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """`pair_moments` for a number of variables."""

    @called_by_address
    def pairs(values, n_blocks, theta, total):
        _pair_moments_intrinsic(values, n_blocks, theta, total, variables)

    return pairs


@intrinsic
def _pair_moments_intrinsic(typingctx, values, n_blocks, theta, total, variables):
    def build(context, builder, signature, arguments):
        _align_stack(builder)
        _emit_pair_moments(builder, arguments[:4], len(variables))
        return context.get_dummy_value()

    return types.void(values, n_blocks, theta, total, variables), build


@intrinsic
def _block_moments_intrinsic(
    typingctx, values, n_rows, n_blocks, theta, side, scratch, total, variables, offset
):
    def build(context, builder, signature, arguments):
        values, n_rows, n_blocks, *pointers = arguments[:7]
        n_columns = len(variables) + len(offset)
        given = (values, *pointers), (n_rows, n_blocks), len(variables), n_columns
        _align_stack(builder)
        _emit_block_moments(builder, *given)
        return context.get_dummy_value()

    return types.void(
        values, n_rows, n_blocks, theta, side, scratch, total, variables, offset
    ), build


def _align_stack(builder):
    """Align the stack frame, so that spilled vectors do not straddle cache lines or pages.

    Without it their position is a matter of chance that may double the time of a whole process.
    """
    attributes = builder.function.attributes
    attributes.add("nounwind")  # llvmlite writes an alignment beside another attribute only
    attributes.alignstack = 64


@intrinsic
def _relative_rows_intrinsic(
    typingctx, table, sources, n_rows, references, values, size, variables, offset
):
    def build(context, builder, signature, arguments):
        _emit_relative_rows(builder, arguments[:6], len(variables), len(offset))
        return context.get_dummy_value()

    return types.void(table, sources, n_rows, references, values, size, variables, offset), build


@intrinsic
def block_moments(typingctx, kind, values, position, sizes, theta, side, block, scratch, total):
    """Add the moments of consecutive blocks of eight decisions to `total`.

    Parameters (in compiled code)
    ----------
    kind : see `moment_kernel`
    values : packed variables, flat; `position` the flat position of the first block
    sizes : rows of each block, and how many blocks; the sums are the same to the last bit as those
        of block after block
    theta : weights, and one number more for the offset column if there is one
    side : (n_blocks, 16): weight of each decision, number of padding rows
    scratch : at least 8 (n_rows + d + 2) numbers for each block
    total : flat (2 + d + d(d+1)/2, 8): log-likelihood, minus the gradient, information; and a
        product of at most 512 numbers between 1 and 2, whose logarithm is still to be taken from
        the log-likelihood, or 0 before there is one
    """

    def build(context, builder, signature, arguments):
        data = _array_data(context, builder, signature, arguments)
        of_block = builder.gep(data(5), [builder.mul(arguments[6], i64(2 * LANES))])
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
def pair_moments(typingctx, address, values, position, n_blocks, theta, total):
    """Compute the moments of blocks of eight choices between two options, all of weight 1.

    Parameters (in compiled code)
    ----------
    address : see `pair_moments_kernel`
    values : packed variables, flat; `position` the flat position of the first block
    n_blocks : at most MAX_PAIR_BLOCKS
    theta : weights
    total : (2 + d + d(d+1)/2,), filled: log-likelihood, minus the gradient, information; and a
        product whose logarithm is still to be taken from the log-likelihood. A padding
        lane with variables of 0 adds a factor of 2 to it, and nothing else.
    """

    def build(context, builder, signature, arguments):
        data = _array_data(context, builder, signature, arguments)
        origin = builder.gep(data(1), [arguments[2]])
        call_address(builder, arguments[0], [origin, arguments[3], data(4), data(5)])
        return context.get_dummy_value()

    return types.void(types.int64, values, types.int64, types.int64, theta, total), build


@intrinsic
def pair_slopes(typingctx, address, columns, n_blocks, theta, k, sums):
    """Sum over choices between two options what derivatives in shape parameters are made of.

    Parameters (in compiled code)
    ----------
    address : see `pair_slopes_kernel`
    columns : (d + n_shape d, n): the other option less the one chosen, of each variable and then
        of their slopes, shape parameter after shape parameter; 0 beyond the last choice
    n_blocks : of eight choices
    theta : (n_pairs, d), of which row k are the weights
    sums : filled, see `_slope_sum_indices`
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
    """Compute the sums of `pair_slopes` over choices among more than two options.

    Parameters (in compiled code)
    ----------
    address : see `set_slopes_kernel`
    values : variables of blocks as `lay_out_sets` writes them, and so many numbers further on, a
        plane for each shape parameter, their slopes
    n_rows : options but the one chosen
    n_blocks : of eight choices; variables beyond the last choice are 0
    theta : (n_pairs, d), of which row k are the weights
    scratch : 8 n_rows (1 + n_shape) numbers
    sums : filled, see `_slope_sum_indices`
    """

    def build(context, builder, signature, arguments):
        data = _array_data(context, builder, signature, arguments)
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
def lay_out_sets(typingctx, address, table, row, chosen, event, n_blocks, values, position):
    """Write blocks of eight choices in a row, options less the one chosen, which is left out.

    Parameters (in compiled code)
    ----------
    address : see `set_layout_kernel`
    table : variables (rows, n_options, d), flat; `row` the flat position of the first
    chosen : options taken; `event` the first of them
    n_blocks : of eight choices
    values : (n_blocks, n_options - 1, d, 8), flat; `position` the flat position of the first block
    """

    def build(context, builder, signature, arguments):
        data = _array_data(context, builder, signature, arguments)
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
def relative_rows(typingctx, kind, table, sources, n_rows, references, values, position, size):
    """Write the rows of one block relative to its chosen rows, eight decisions at a time.

    Parameters (in compiled code)
    ----------
    kind : see `moment_kernel`
    table : variables of all options, (n, d)
    sources : flat position in `table` of each row to write, (n_rows, 8)
    references : flat position of the chosen rows, (8,)
    values : packed variables, flat; `position` the flat position of the block
    size : (2, d, 8): the largest |x| and |x_i - x_chosen| so far
    """

    def build(context, builder, signature, arguments):
        data = _array_data(context, builder, signature, arguments)
        block = builder.gep(data(5), [arguments[6]])
        given = [data(1), data(2), arguments[3], data(4), block, data(7)]
        call_address(builder, builder.extract_value(arguments[0], 1), given)
        return context.get_dummy_value()

    return types.void(
        kind, table, sources, types.int64, references, values, types.int64, size
    ), build


def _array_data(context, builder, signature, arguments):
    """Pointer to the data of the i-th argument, an array, as a function of i."""
    return lambda i: context.make_array(signature.args[i])(context, builder, arguments[i]).data


def call_address(builder, address, given):
    """Call a function without return value by its address."""
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
    builder.call(builder.inttoptr(address, kind.as_pointer()), given)


def _emit_relative_rows(builder, arguments, d, has_offset):
    """Emit `relative_rows` for d variables."""
    table, positions, n_rows, references, block, size = arguments
    emit = VectorBuilder(builder)
    stride = (d + has_offset) * LANES
    near = _gather_columns(builder, _row_pointers(builder, table, references, i64(0)), d)
    following = builder.mul(builder.add(n_rows, i64(1)), i64(LANES * d))
    before = [emit.load(size, i64(j * LANES)) for j in range(2 * d)]
    starts = [emit.max(emit.absolute(near[a]), before[a]) for a in range(d)] + before[d:]

    def body(row, carried):
        begins = _row_pointers(builder, table, positions, builder.mul(row, i64(LANES)))
        x = _gather_columns(builder, begins, d)
        for begin in begins:  # the next block, mostly: decisions tend to be stored in order
            emit.prefetch(begin, following)
        z = [builder.fsub(x[a], near[a]) for a in range(d)]
        first = builder.mul(row, i64(stride))
        for a in range(d):
            emit.store(z[a], block, builder.add(first, i64(a * LANES)))
        return [emit.max(emit.absolute(v), c) for v, c in zip(x + z, carried, strict=True)]

    for j, largest in enumerate(emit.loop_rows(n_rows, body, starts)):
        emit.store(largest, size, i64(j * LANES))


def _gather_columns(builder, begins, d):
    """Gather the d variables of the eight rows that begin at these pointers, as vectors."""
    vectors = []
    for a in range(d):
        vector = ir.Constant(VectorBuilder(builder).vector, ir.Undefined)
        for lane, begin in enumerate(begins):
            number = builder.load(builder.gep(begin, [i64(a)]))
            vector = builder.insert_element(vector, number, ir.Constant(ir.IntType(32), lane))
        vectors.append(vector)
    return vectors


def _row_pointers(builder, table, positions, first):
    """Pointers to the eight rows of the table at positions[first..first + 7]."""
    return [
        builder.gep(table, [builder.load(builder.gep(positions, [builder.add(first, i64(lane))]))])
        for lane in range(LANES)
    ]


# 1 / (weight * mass) must stay finite for any sum of exponentials; lighter decisions add nothing.
MIN_INVERTIBLE_WEIGHT = 1e-290
# Code for all pairs of variables grows with their square, and so does the time to compile it.
MAX_UNROLLED_VARIABLES = 12
# Up to here all sums of a row fit in registers: means and products are taken in one loop, and sets
# of two options have their own code.
MAX_FUSED_VARIABLES = 5
# |utility - chosen option's|: exp(100) overflows in no sum or product, so no maximum is subtracted.
MAX_UNSHIFTED_UTILITY = 100.0
MAX_CACHED_VECTORS = 256  # of 64 bytes, per group of blocks: 16 kB stay in the first-level cache

# Parts of LLVM's names of processors with AVX-512. Needed where NUMBA_CPU_NAME is set without
# features: numba then compiles for the named processor, not for the host, whose features mislead.
AVX512_PROCESSORS = [
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
# Names of processors without AVX, for the same case: longer vectors would be split by the compiler.
SSE_PROCESSORS = ("generic", "x86-64", "nocona", "core2", "penryn", "nehalem", "westmere", "btver1")


def _vector_registers():
    """Number of vector registers of the processor, and of doubles in each.

    Follows numba: the host's features, or those of the processor that NUMBA_CPU_NAME names.
    """
    if not binding.get_process_triple().startswith(("x86_64", "i686", "amd64")):
        return 32, 2  # arm64: NEON has many registers, but of two doubles only
    features, name = config.CPU_FEATURES, str(config.CPU_NAME)
    if features is None:
        features = binding.get_host_cpu_features().flatten()
    if "+avx512f" in features or (not features and any(word in name for word in AVX512_PROCESSORS)):
        return 32, 8
    if "+avx" in features or (not features and name not in SSE_PROCESSORS):
        return 16, 4
    return 16, 2


def _n_strip_registers(first, height):
    """Number of registers that hold the sums of a strip of variables and the row added to them.

    The sums are those of pairs of a variable of the strip with each of the `first` variables before
    it, or with those of the strip up to itself; the means of the strip stay in registers too.
    """
    return height * first + height * (height + 1) // 2 + 2 * height + 1


def _variable_strips(d):
    """First variable and height of each strip into which the pairs of d variables are cut.

    Strips are as high as registers allow, for fewer passes over the rows; at least one variable.
    """
    strips, first = [], 0
    while first < d:
        high = 1
        while first + high < d and _n_strip_registers(first, high + 1) <= N_REGISTERS:
            high += 1
        strips.append((first, high))
        first += high
    return strips


N_REGISTERS, REGISTER_LANES = _vector_registers()
# Lanes per exponential: with registers of two, several chains side by side hide latency (measured).
EXP_LANES = LANES if REGISTER_LANES == 2 else REGISTER_LANES
TILE_HEIGHT = _variable_strips(N_REGISTERS)[0][1]
# Variables up to which `pair_moments` beats `block_moments` (measured), by the lanes of a register.
MAX_PAIR_VARIABLES = {8: 3, 4: 2}.get(REGISTER_LANES, 0)
# Options times variables: the code of an unrolled layout, and compiling it, grow with them.
MAX_LAYOUT_COLUMNS = 24
# Registers that an exponential occupies for its polynomial. Sums that need more than the rest would
# be written to memory and read back at every exponential.
EXP_REGISTERS = 12
MAX_PAIR_BLOCKS = 120  # a product of 8 * 120 factors up to 2 stays below 2^1024 and is finite


def _prefetch_schedule(d, n_columns, of_pairs):
    """Cache lines that each loop over rows prefetches per row, and how many were prefetched before.

    The loop of the exponentials comes first, that of the means of many variables second. Memory
    cannot deliver a whole row during one loop, so each loop prefetches in proportion to its
    multiplications. With two options the first loop takes all decisions of a block at once.
    """
    loops = [(len(_EXP2_COEFFICIENTS) + 2, LANES if of_pairs else EXP_LANES)]
    if d > MAX_FUSED_VARIABLES:
        loops.append((d, REGISTER_LANES))
    if d <= MAX_UNROLLED_VARIABLES:
        products = [high * first + high * (high + 3) // 2 for first, high in _variable_strips(d)]
        loops += [(work, REGISTER_LANES) for work in products]
    prefetch_schedule, before, done, all_work = [], 0, 0, sum(work for work, _ in loops)
    for work, lanes in loops:
        done += work
        n_parts = LANES // lanes
        n = max(0, math.ceil((n_columns * done / all_work - before) / n_parts))
        prefetch_schedule.append((n, before))
        before += n * n_parts
    return prefetch_schedule


def _emit_block_moments(builder, pointers, sizes, d, n_columns):
    """Emit `block_moments` for d variables."""
    if d > MAX_FUSED_VARIABLES:  # no separate code for pairs of options: it would gain little
        _emit_blocks(builder, pointers, sizes, d, n_columns)
        return
    n_rows, n_blocks = sizes
    is_pair = builder.icmp_signed("==", n_rows, i64(1))
    with builder.if_else(is_pair) as (where_pair, elsewhere):
        with where_pair:
            _emit_blocks_of_pairs(builder, pointers, n_blocks, d, n_columns)
        with elsewhere:
            _emit_blocks(builder, pointers, sizes, d, n_columns)


def _emit_blocks_of_pairs(builder, pointers, n_blocks, d, n_columns):
    """Emit the moments of sets of two options: first the blocks of unit weights, then the rest."""
    given = d, n_columns
    all_blocks = _BlockMoments(VectorBuilder(builder), pointers, (i64(1), n_blocks), *given, i64(0))
    n_unit_blocks = all_blocks.n_unit_blocks()
    with builder.if_then(builder.icmp_signed(">", n_unit_blocks, i64(0))):
        _emit_blocks(builder, pointers, (i64(1), n_unit_blocks), *given, unit_weights=True)
    with builder.if_then(builder.icmp_signed("<", n_unit_blocks, n_blocks)):
        values, theta, side, *others = pointers
        values = builder.gep(values, [builder.mul(n_unit_blocks, i64(n_columns * LANES))])
        side = builder.gep(side, [builder.mul(n_unit_blocks, i64(2 * LANES))])
        rest = builder.sub(n_blocks, n_unit_blocks)
        _emit_blocks(builder, (values, theta, side, *others), (i64(1), rest), *given)


def _emit_blocks(builder, pointers, sizes, d, n_columns, unit_weights=False):
    """Emit the probabilities of all blocks, then the sums, a register's decisions at a time."""
    blocks = _BlockMoments(
        VectorBuilder(builder), pointers, sizes, d, n_columns, i64(0), unit_weights
    )
    blocks.add_log_likelihoods()
    blocks.loop_parts(REGISTER_LANES, _BlockMoments.add_products)


def _broadcast_weights(builder, emit, theta, d):
    """theta / log 2 in every lane, so that exponentials are powers of 2."""
    in_units = ir.Constant(DOUBLE, 1.0 / _LN2)
    given = [builder.load(builder.gep(theta, [i64(a)])) for a in range(d)]
    return [emit.broadcast(builder.fmul(weight, in_units)) for weight in given]


def _emit_pair_probabilities(emit, weights, x):
    """Utility q, probability p and p (1 - p) of the option not chosen; and 1 + exp(-|q|)."""
    builder, zero, one = emit.builder, emit.splat(0.0), emit.splat(1.0)
    q = emit.mul(weights[0], x[0])
    for weight, variable in zip(weights[1:], x[1:], strict=True):
        q = emit.fma(weight, variable, q)
    lowest = emit.splat(_MIN_EXP_ARGUMENT / _LN2)
    e = emit.power_of_two(emit.max(emit.sub(zero, emit.absolute(q)), lowest))
    mass = emit.add(one, e)
    # p of the likelier option is 1 / mass, of the other e / mass: neither cancels
    inverse_mass = builder.fdiv(one, mass)
    rest = emit.mul(e, inverse_mass)
    p = builder.select(builder.fcmp_ordered(">", q, zero), inverse_mass, rest)
    return q, p, emit.mul(rest, inverse_mass), mass


def _lower_triangle_indices(n):
    return [(a, c) for a in range(n) for c in range(a + 1)]


def _emit_pair_moments(builder, arguments, d):
    """Emit `pair_moments` for d variables: one loop, whose sums stay in registers."""
    values, n_blocks, theta, total = arguments
    emit, pairs = VectorBuilder(builder, REGISTER_LANES), _lower_triangle_indices(d)
    zero, one = emit.splat(0.0), emit.splat(1.0)
    weights = _broadcast_weights(builder, emit, theta, d)

    def some_lanes(position, sums):
        x = [emit.load(values, builder.add(position, i64(a * LANES))) for a in range(d)]
        q, p, variance, mass = _emit_pair_probabilities(emit, weights, x)
        top = builder.select(builder.fcmp_unordered(">", q, zero), q, zero)  # NaN stays
        part = [emit.mul(variance, x[a]) for a in range(d)]
        first, product, *others = sums
        return [
            emit.sub(first, top),
            emit.mul(product, mass),
            *(emit.fma(p, x[a], others[a]) for a in range(d)),
            *(emit.fma(part[a], x[c], others[d + i]) for i, (a, c) in enumerate(pairs)),
        ]

    def of_block(k, sums):
        first = builder.mul(k, i64(d * LANES))
        for lane in range(0, LANES, REGISTER_LANES):  # unrolled: the parts of a block overlap
            sums = some_lanes(builder.add(first, i64(lane)), sums)
        return sums

    starts = [zero, one, *[zero] * (d + len(pairs))]
    top, product, *others = emit.loop_rows(n_blocks, of_block, starts)
    value = builder.fmul(emit.reduce_lanes(top, emit.add), ir.Constant(DOUBLE, _LN2))
    numbers = [value, *(emit.reduce_lanes(sums, emit.add) for sums in others)]
    for j, number in enumerate([*numbers, emit.reduce_lanes(product, emit.mul)]):
        builder.store(number, builder.gep(total, [i64(j)]))


def _slope_sum_indices(d, n_shape):
    """Indices of the factors of each sum of `pair_slopes`, in five groups.

    Let z_a be the difference of variable a between the option not chosen and the chosen one, dz_qa
    its slope in shape parameter q, and s_q = sum_a theta_a dz_qa. The groups are the sums of p s_q,
    of p dz_qa, and with v = p (1 - p) of v z_a z_c, of v z_a s_q, and of v s_q s_o.
    """
    both = [(a, q) for a in range(d) for q in range(n_shape)]
    of_variables, of_shape = _lower_triangle_indices(d), _lower_triangle_indices(n_shape)
    return [(q, q) for q in range(n_shape)], both, of_variables, both, of_shape


def _emit_pair_slopes(builder, arguments, d, n_shape):
    """Emit `pair_slopes` for d variables and n_shape slopes of each."""
    columns, stride, n_blocks, theta, sums = arguments
    emit = VectorBuilder(builder, REGISTER_LANES)
    weights = _broadcast_weights(builder, emit, theta, d)
    theta_lanes = [emit.mul(weight, emit.splat(_LN2)) for weight in weights]
    of_s, of_changes, of_away, of_both, of_slopes = _slope_sum_indices(d, n_shape)
    rows = [builder.gep(columns, [builder.mul(stride, i64(i))]) for i in range(d * (1 + n_shape))]

    def some_lanes(position, carried):
        z = [emit.load(row, position) for row in rows]
        away, changes = z[:d], z[d:]
        _, p, variance, _ = _emit_pair_probabilities(emit, weights, away)
        s = []
        for q in range(n_shape):
            s.append(emit.mul(theta_lanes[0], changes[q * d]))
            for a in range(1, d):
                s[q] = emit.fma(theta_lanes[a], changes[q * d + a], s[q])
        part = [emit.mul(variance, variable) for variable in away]
        bent = [emit.mul(variance, slope) for slope in s]
        added = [(p, s[q]) for q, _ in of_s]
        added += [(p, changes[q * d + a]) for a, q in of_changes]
        added += [(part[a], away[c]) for a, c in of_away]
        added += [(part[a], s[q]) for a, q in of_both]
        added += [(bent[q], s[o]) for q, o in of_slopes]
        return [emit.fma(*both, total) for both, total in zip(added, carried, strict=True)]

    n_sums = n_slope_sums(d, n_shape)
    n_vectors = builder.mul(n_blocks, i64(LANES // REGISTER_LANES))

    def of_vector(k, carried):
        return some_lanes(builder.mul(k, i64(REGISTER_LANES)), carried)

    ends = emit.loop_rows(n_vectors, of_vector, [emit.splat(0.0)] * n_sums)
    for j, end in enumerate(ends):
        builder.store(emit.reduce_lanes(end, emit.add), builder.gep(sums, [i64(j)]))


def _emit_set_slopes(builder, arguments, d, n_shape):
    """Emit `set_slopes` for d variables and n_shape slopes of each."""
    values, plane, n_rows, n_blocks, theta, scratch, sums = arguments
    emit, n_parts = VectorBuilder(builder, REGISTER_LANES), LANES // REGISTER_LANES
    zero, lowest = emit.splat(0.0), emit.splat(_MIN_EXP_ARGUMENT / _LN2)
    weights = _broadcast_weights(builder, emit, theta, d)
    theta_lanes = [emit.mul(weight, emit.splat(_LN2)) for weight in weights]
    of_s, of_changes, of_away, of_both, of_slopes = _slope_sum_indices(d, n_shape)
    n_first = len(of_s) + len(of_changes)
    planes = [builder.gep(values, [builder.mul(plane, i64(q))]) for q in range(1 + n_shape)]

    def of_vector(v, carried):
        block, part = builder.udiv(v, i64(n_parts)), builder.urem(v, i64(n_parts))
        begin = builder.add(
            builder.mul(builder.mul(block, n_rows), i64(d * LANES)),
            builder.mul(part, i64(REGISTER_LANES)),
        )

        def variables(row, q):
            first = builder.add(begin, builder.mul(row, i64(d * LANES)))
            return [emit.load(planes[q], builder.add(first, i64(a * LANES))) for a in range(d)]

        def scratch_slot(row, what=0):
            position = builder.add(builder.mul(row, i64(1 + n_shape)), i64(what))
            return scratch, builder.mul(position, i64(REGISTER_LANES))

        def utility(row, tops):
            q = zero
            for weight, variable in zip(weights, variables(row, 0), strict=True):
                q = emit.fma(weight, variable, q)
            emit.store(q, *scratch_slot(row))
            return [emit.max(q, tops[0])]

        (top,) = emit.loop_rows(n_rows, utility, [zero])

        def exponential(row, totals):
            e = emit.power_of_two(emit.max(emit.sub(emit.load(*scratch_slot(row)), top), lowest))
            emit.store(e, *scratch_slot(row))
            return [emit.add(totals[0], e)]

        chosen = emit.power_of_two(emit.max(emit.sub(zero, top), lowest))
        (mass,) = emit.loop_rows(n_rows, exponential, [chosen])
        inverse_mass = builder.fdiv(emit.splat(1.0), mass)

        def means(row, before):
            p, away = emit.mul(emit.load(*scratch_slot(row)), inverse_mass), variables(row, 0)
            emit.store(p, *scratch_slot(row))
            changes = [variables(row, 1 + q) for q in range(n_shape)]
            added = []
            for q in range(n_shape):
                slope = emit.mul(theta_lanes[0], changes[q][0])
                for a in range(1, d):
                    slope = emit.fma(theta_lanes[a], changes[q][a], slope)
                emit.store(slope, *scratch_slot(row, 1 + q))
                added.append(slope)
            added += [changes[q][a] for a, q in of_changes] + away
            return [emit.fma(p, value, total) for value, total in zip(added, before, strict=True)]

        found = emit.loop_rows(n_rows, means, [zero] * (n_first + d))
        of_s_here, of_away_here = found[:n_shape], found[n_first:]
        first = [emit.add(*both) for both in zip(found, carried[:n_first], strict=False)]

        def with_products(p, away, s, before):
            part, bent = [emit.mul(p, z) for z in away], [emit.mul(p, z) for z in s]
            added = [(part[a], away[c]) for a, c in of_away]
            added += [(part[a], s[q]) for a, q in of_both]
            added += [(bent[q], s[o]) for q, o in of_slopes]
            return [emit.fma(*both, total) for both, total in zip(added, before, strict=True)]

        def products(row, before):
            # centred before they are multiplied: no cancellation of large numbers
            away = [emit.sub(*both) for both in zip(variables(row, 0), of_away_here, strict=True)]
            slopes = [emit.load(*scratch_slot(row, 1 + q)) for q in range(n_shape)]
            s = [emit.sub(*both) for both in zip(slopes, of_s_here, strict=True)]
            return with_products(emit.load(*scratch_slot(row)), away, s, before)

        second = emit.loop_rows(n_rows, products, carried[n_first:])
        own = emit.mul(chosen, inverse_mass)  # no row: the chosen option differs from itself by 0
        return [*first, *with_products(own, of_away_here, of_s_here, second)]

    n_sums = n_slope_sums(d, n_shape)
    n_vectors = builder.mul(n_blocks, i64(n_parts))
    ends = emit.loop_rows(n_vectors, of_vector, [zero] * n_sums)
    for j, end in enumerate(ends):
        builder.store(emit.reduce_lanes(end, emit.add), builder.gep(sums, [i64(j)]))


def _emit_set_layout(builder, arguments, m, d):
    """Emit `lay_out_sets` for m options of d variables."""
    table, chosen, n_blocks, values = arguments
    emit, width = VectorBuilder(builder), m * d

    def of_block(b, carried):
        first = builder.mul(b, i64(LANES * width))
        rows = [
            builder.gep(table, [builder.add(first, i64(lane * width))]) for lane in range(LANES)
        ]
        position = builder.bitcast(
            builder.gep(chosen, [builder.mul(b, i64(LANES))]), emit.ints.as_pointer()
        )
        chosen_option = builder.load(position)
        chosen_option.align = 8
        columns = _load_columns(emit, rows, width)
        to = builder.mul(b, i64((m - 1) * d * LANES))
        for a in range(d):
            x = columns[a::d]
            own = x[0]
            for i in range(1, m):
                own = builder.select(
                    builder.icmp_signed("==", chosen_option, emit.splat_ints(i)), x[i], own
                )
            for i in range(m - 1):
                after = builder.icmp_signed("<=", chosen_option, emit.splat_ints(i))
                difference = builder.fsub(builder.select(after, x[i + 1], x[i]), own)
                emit.store(difference, values, builder.add(to, i64((i * d + a) * LANES)))
        return []

    emit.loop_rows(n_blocks, of_block, [])


def _load_columns(emit, rows, width):
    """Load eight rows of `width` numbers and transpose them to one vector per column."""
    found = []
    while width - len(found) >= LANES:
        loaded = [emit.load(row, i64(len(found))) for row in rows]
        found += transpose_lanes(emit, loaded)
    rest = width - len(found)
    if found and rest >= 3:  # overlapping loads; one or two columns are gathered faster
        found += transpose_lanes(emit, [emit.load(row, i64(width - LANES)) for row in rows])[-rest:]
    for j in range(len(found), width):
        found += _gather_columns(emit.builder, [emit.builder.gep(row, [i64(j)]) for row in rows], 1)
    return found


def transpose_lanes(emit, rows):
    """Transpose an 8 x 8 matrix of eight vectors by swapping halves, quarters and neighbours."""
    index = ir.VectorType(_INT32, LANES)
    for step in (4, 2, 1):
        low = [j if not j & step else LANES + j - step for j in range(LANES)]
        high = [j + step if not j & step else LANES + j for j in range(LANES)]
        masks = [ir.Constant(index, numbers) for numbers in (low, high)]
        for k in range(LANES):
            if not k & step:
                both = rows[k], rows[k + step]
                rows[k], rows[k + step] = (emit.builder.shuffle_vector(*both, m) for m in masks)
    return rows


class _BlockMoments:
    """Emitter of the moments of several blocks, for `emit.lanes` decisions of each at a time.

    Rows are relative to the chosen option. The sums of all eight decisions would not fit in narrow
    registers, hence the parts. What one loop leaves to the next is stored behind the rows of the
    scratch: for each block TOP, MASS and the means. With `unit_weights` every decision of the
    blocks weighs 1 and no row is padding.
    """

    TOP, MASS, MEANS = 0, 1, 2

    def __init__(self, emit, pointers, sizes, d, n_columns, part, unit_weights=False):
        builder = emit.builder
        self.emit, self.builder, self.part, self.unit_weights = emit, builder, part, unit_weights
        self.n_rows, self.n_blocks = sizes
        self.n_all = builder.mul(*sizes)
        self.d, self.n_columns, self.pointers = d, n_columns, pointers
        # Where weights are in units of log 2, an exponential takes one product fewer. They are
        # rounded, as theta is; an offset may be large and exact, and is not multiplied.
        self.unit, self.exp = _LN2, emit.power_of_two
        if n_columns > d:
            self.unit, self.exp = 1.0, emit.exp_of_sum
        self.values, self.theta, side, scratch, total = pointers
        notes = builder.gep(scratch, [builder.mul(self.n_all, i64(LANES))])
        first = builder.mul(part, i64(emit.lanes))
        self.rows, self.side, self.scratch, self.notes, self.total = (
            builder.gep(pointer, [first]) for pointer in (self.values, side, scratch, notes, total)
        )
        self.prefetch_schedule = _prefetch_schedule(
            d, n_columns, isinstance(self.n_rows, ir.Constant)
        )

    def loop_indices(self, n, body):
        """Emit a loop over blocks or tiles that carries nothing."""

        def carrying_nothing(i, carried):
            body(i)
            return []

        self.emit.loop_rows(n, carrying_nothing, [])

    def loop_parts(self, lanes, handle_part):
        """Emit a loop over the parts of the blocks, `lanes` decisions of each at a time."""
        sizes = self.n_rows, self.n_blocks

        def of_part(i):
            emit = VectorBuilder(self.builder, lanes)
            handle_part(
                _BlockMoments(
                    emit, self.pointers, sizes, self.d, self.n_columns, i, self.unit_weights
                )
            )

        self.loop_indices(i64(LANES // lanes), of_part)

    def loop_rows(self, block, body, starts):
        """Emit a loop over the rows of a block, counted from the first row of all blocks."""
        first = self.builder.mul(block, self.n_rows)
        return self.emit.loop_rows(
            self.n_rows, lambda r, carried: body(self.builder.add(first, r), carried), starts
        )

    def variable_offset(self, name):
        """Index of a variable that is given as (index known at run time, constant offset)."""
        return self.builder.add(name[0], i64(name[1]))

    def load_variable(self, row, name):
        base = self.builder.mul(row, i64(self.n_columns * LANES))
        position = self.builder.mul(self.variable_offset(name), i64(LANES))
        return self.emit.load(self.rows, self.builder.add(base, position))

    def load_e(self, row):
        return self.emit.load(self.scratch, self.builder.mul(row, i64(LANES)))

    def store_e(self, row, value):
        self.emit.store(value, self.scratch, self.builder.mul(row, i64(LANES)))

    def note_position(self, block, slot):
        base = self.builder.mul(block, i64((self.MEANS + self.d) * LANES))
        return self.builder.add(base, self.builder.mul(slot, i64(LANES)))

    def load_note(self, block, slot):
        return self.emit.load(self.notes, self.note_position(block, slot))

    def store_note(self, block, slot, value):
        self.emit.store(value, self.notes, self.note_position(block, slot))

    def load_decision_weights(self, block):
        if self.unit_weights:
            return self.emit.splat(1.0)
        return self.emit.load(self.side, self.builder.mul(block, i64(2 * LANES)))

    def load_padding_rows(self, block):
        position = self.builder.mul(block, i64(2 * LANES))
        return self.emit.load(self.side, self.builder.add(position, i64(LANES)))

    def initial_mass(self, block):
        """Sum of exponentials before the rows are added: 1 for the chosen option less the padding.

        Padding rows have q = 0 and add 1 each, which is subtracted in advance.
        """
        if self.unit_weights:
            return self.emit.splat(1.0)
        return self.emit.sub(self.emit.splat(1.0), self.load_padding_rows(block))

    def n_unit_blocks(self):
        """Number of leading blocks of unit weights: all, all but the last, or 0 in other cases."""
        emit, builder = self.emit, self.builder
        none = ir.Constant(emit.ints, [0] * emit.lanes)
        one = builder.bitcast(emit.splat(1.0), emit.ints)

        def differing_bits(k):
            other = builder.xor(builder.bitcast(self.load_decision_weights(k), emit.ints), one)
            return builder.or_(other, builder.bitcast(self.load_padding_rows(k), emit.ints))

        def body(k, carried):
            both = builder.or_(builder.bitcast(carried[0], emit.ints), differing_bits(k))
            return [builder.bitcast(both, emit.vector)]

        last = builder.sub(self.n_blocks, i64(1))
        start = builder.bitcast(none, emit.vector)
        (before,) = emit.loop_rows(last, body, [start])
        uneven = self.any_lane(
            builder.icmp_unsigned("!=", builder.bitcast(before, emit.ints), none)
        )
        last_is_not = self.any_lane(builder.icmp_unsigned("!=", differing_bits(last), none))
        whole = builder.select(last_is_not, last, self.n_blocks)
        return builder.select(uneven, i64(0), whole)

    def any_lane(self, lanes):
        """Whether a condition holds in any lane."""
        bits = self.builder.bitcast(lanes, ir.IntType(self.emit.lanes))
        return self.builder.icmp_unsigned("!=", bits, bits.type(0))

    def add_to_total(self, slot, value):
        index = self.builder.mul(slot, i64(LANES))
        self.emit.store(self.emit.add(self.emit.load(self.total, index), value), self.total, index)

    def prefetch_next(self, row, loop_index):
        """Prefetch rows of the next blocks while these keep the processor busy.

        The group after the next comes from memory into the outer cache, the next from there into
        the inner one: prefetching straight from memory into the inner cache delays nearer loads.
        """
        builder, (n, before) = self.builder, self.prefetch_schedule[loop_index]
        lines = builder.mul(self.n_all, i64(self.n_columns))
        first = builder.mul(self.n_all, builder.add(i64(before), builder.mul(self.part, i64(n))))
        first = builder.add(builder.add(first, lines), builder.mul(row, i64(n)))
        for i in range(n):
            line = builder.add(first, i64(i))
            self.emit.prefetch(self.values, builder.mul(line, i64(LANES)), nearest=True)
            later = builder.add(line, lines)
            self.emit.prefetch(self.values, builder.mul(later, i64(LANES)), nearest=False)

    def add_log_likelihoods(self):
        """Add log-likelihoods; store e = exp(q - top) of every row, and the sum of e as MASS."""
        builder = self.builder
        pointers = [builder.gep(self.theta, [i64(a)]) for a in range(self.n_columns)]
        theta = [builder.load(position) for position in pointers]
        if isinstance(self.n_rows, ir.Constant):
            self.add_log_likelihoods_of_pairs(theta)
        else:
            self.store_utilities_and_exponentials(theta)
            self.loop_indices(self.n_blocks, self.add_log_likelihood)

    def broadcast_in_unit(self, theta):
        """Weights theta divided by `unit`, in every lane."""
        units = ir.Constant(DOUBLE, 1.0 / self.unit)
        return [self.emit.broadcast(self.builder.fmul(x, units)) for x in theta]

    def add_log_likelihoods_of_pairs(self, theta):
        """Add log-likelihoods of sets of two options, the larger of whose exponentials is 1.

        Their sum lies between 1 and 2, so that the sums of up to 512 decisions of weight 1 can be
        multiplied without overflow: one logarithm of the product replaces all of theirs.
        """
        emit, weights = self.emit, self.broadcast_in_unit(theta)
        n_sums = 1 + self.d + self.d * (self.d + 1) // 2
        of_value, of_product = (self.total, i64(0)), (self.total, i64(n_sums * LANES))

        def of_block(k, carried):
            mass, top = self.store_pair_exponentials(k, weights)
            value, product = carried
            if self.unit_weights:
                return [emit.sub(value, top), emit.mul(product, mass)]
            loss = emit.add(self.log_mass_if_weighted(k, mass), top)
            product = emit.mul(product, self.mass_if_unit_weight(k, mass))
            return [emit.sub(value, emit.mul(self.load_decision_weights(k), loss)), product]

        product = emit.max(emit.load(*of_product), emit.splat(1.0))  # 0 before the first block
        ends = emit.loop_rows(self.n_blocks, of_block, [emit.load(*of_value), product])
        for position, end in zip((of_value, of_product), ends, strict=True):
            emit.store(end, *position)

    def has_unit_weight(self, block):
        return self.builder.fcmp_ordered(
            "==", self.load_decision_weights(block), self.emit.splat(1.0)
        )

    def mass_if_unit_weight(self, block, mass):
        return self.builder.select(self.has_unit_weight(block), mass, self.emit.splat(1.0))

    def log_mass_if_weighted(self, block, mass):
        """Logarithms of the masses of decisions that do not weigh 1; 0 for the others."""
        return self.emit.log(
            self.builder.select(self.has_unit_weight(block), self.emit.splat(1.0), mass)
        )

    def store_utilities_and_exponentials(self, theta):
        builder = self.builder
        is_zero = ir.Constant(ir.IntType(1), 1)
        for number in theta:
            zero = builder.fcmp_ordered("==", number, ir.Constant(DOUBLE, 0.0))
            is_zero = builder.and_(is_zero, zero)
        with builder.if_else(is_zero) as (where_zero, elsewhere):
            with where_zero:
                self.loop_indices(self.n_blocks, self.store_unit_exponentials)
            with elsewhere:
                self.store_utilities(self.broadcast_in_unit(theta))
                self.loop_parts(EXP_LANES, _BlockMoments.add_exponentials)

    def store_utilities(self, weights):
        """Store q = theta'x of every row, the chosen option's being 0, and the initial masses.

        The largest q of a decision is subtracted only where an exponential might overflow, because
        that takes one more loop and one more exponential.
        """
        emit, builder = self.emit, self.builder

        def body(row, carried):
            q = self.utility(row, weights)
            self.store_e(row, q)
            return [emit.max(emit.absolute(q), carried[0])]

        (farthest,) = emit.loop_rows(self.n_all, body, [emit.splat(0.0)])
        is_far = builder.fcmp_ordered(">", farthest, emit.splat(MAX_UNSHIFTED_UTILITY / self.unit))
        with builder.if_else(self.any_lane(is_far)) as (far, near):
            with far:
                self.loop_indices(self.n_blocks, self.subtract_largest)
            with near:
                self.loop_indices(self.n_blocks, self.store_no_shift)

    def utility(self, row, weights):
        """Utility theta'x of a row."""
        q = self.emit.mul(weights[0], self.load_variable(row, (i64(0), 0)))
        for a in range(1, self.n_columns):
            q = self.emit.fma(weights[a], self.load_variable(row, (i64(0), a)), q)
        return q

    def subtract_largest(self, block):
        """Subtract the largest q of each decision from its rows, where it is large.

        It depends on the decision alone, so that bits do not depend on its neighbours in the block.
        """
        emit, lowest = self.emit, self.emit.splat(_MIN_EXP_ARGUMENT / self.unit)
        zero = [emit.splat(0.0)]
        (top,) = self.loop_rows(block, lambda row, c: [emit.max(self.load_e(row), c[0])], zero)
        is_high = self.builder.fcmp_ordered(">", top, emit.splat(MAX_UNSHIFTED_UTILITY / self.unit))
        shift = self.builder.select(is_high, top, emit.splat(0.0))

        def body(row, carried):
            q = emit.max(emit.sub(self.load_e(row), shift), lowest)
            self.store_e(row, q)
            return []

        self.loop_rows(block, body, [])
        chosen = self.exp(emit.max(emit.sub(emit.splat(0.0), shift), lowest))
        self.store_note(block, i64(self.TOP), emit.mul(shift, emit.splat(self.unit)))
        self.store_note(block, i64(self.MASS), emit.mul(chosen, self.initial_mass(block)))

    def store_no_shift(self, block):
        """Store the initial mass of a block in which no utility is large."""
        self.store_note(block, i64(self.TOP), self.emit.splat(0.0))
        self.store_note(block, i64(self.MASS), self.initial_mass(block))

    def add_exponentials(self):
        """Take exponentials of all blocks."""
        self.loop_indices(self.n_blocks, self.store_exponentials)

    def store_exponentials(self, block):
        """Replace q by exp q, and add it to MASS, which includes the chosen option."""

        def body(row, carried):
            (total,) = carried
            self.prefetch_next(row, 0)
            e = self.exp(self.load_e(row))
            self.store_e(row, e)
            return [self.emit.add(total, e)]

        (total,) = self.loop_rows(block, body, [self.load_note(block, i64(self.MASS))])
        self.store_note(block, i64(self.MASS), total)

    def store_unit_exponentials(self, block):
        """Store exponentials and MASS at theta = 0, where every exponential is 1."""

        def body(row, carried):
            self.store_e(row, self.emit.splat(1.0))
            return []

        self.loop_rows(block, body, [])
        others = self.emit.broadcast(self.builder.sitofp(self.n_rows, DOUBLE))
        self.store_note(block, i64(self.TOP), self.emit.splat(0.0))
        self.store_note(block, i64(self.MASS), self.emit.add(others, self.initial_mass(block)))

    def store_pair_exponentials(self, block, weights):
        """Store e = exp(q - top) of the option not chosen and MASS; return mass and top."""
        emit, zero = self.emit, self.emit.splat(0.0)
        self.prefetch_next(block, 0)
        q = self.utility(block, weights)
        top = self.builder.select(self.builder.fcmp_unordered(">", q, zero), q, zero)  # NaN stays
        lowest = emit.splat(_MIN_EXP_ARGUMENT / self.unit)
        small = self.exp(emit.max(emit.sub(zero, emit.absolute(q)), lowest))
        other_wins = self.builder.fcmp_ordered(">", q, zero)
        e = self.builder.select(other_wins, emit.splat(1.0), small)
        chosen = self.builder.select(other_wins, small, emit.splat(1.0))
        mass = emit.add(emit.mul(chosen, self.initial_mass(block)), e)
        self.store_e(block, e)
        self.store_note(block, i64(self.MASS), mass)
        return mass, emit.mul(top, emit.splat(self.unit))

    def add_log_likelihood(self, block):
        """Add the log-likelihoods of a block."""
        emit, weight = self.emit, self.load_decision_weights(block)
        mass = self.load_note(block, i64(self.MASS))
        loss = emit.mul(weight, emit.add(emit.log(mass), self.load_note(block, i64(self.TOP))))
        self.add_to_total(i64(0), emit.sub(emit.splat(0.0), loss))
        if self.d <= MAX_FUSED_VARIABLES:
            self.store_weight_factors(block, weight, mass)

    def add_products(self):
        """Add gradient and information to the total."""
        if self.d <= MAX_FUSED_VARIABLES:
            of_pairs = isinstance(self.n_rows, ir.Constant)
            add = self.add_strip_of_pairs if of_pairs else self.add_strip
            for loop_index, (first, high) in enumerate(_variable_strips(self.d), 1):
                add(range(first, first + high), loop_index)
            return
        variables, most = [(i64(0), a) for a in range(self.d)], N_REGISTERS - 4
        for first in range(0, self.d, most):
            some = variables[first : first + most]
            self.loop_indices(self.n_blocks, lambda k, some=some: self.add_means(k, some))
        if self.d <= MAX_UNROLLED_VARIABLES:
            for loop_index, (first, high) in enumerate(_variable_strips(self.d), 2):
                self.add_tile((i64(first), high), (i64(0), first), loop_index=loop_index)
            return
        n_whole, rest = divmod(self.d, TILE_HEIGHT)

        def row_of_tiles(i, size):
            left = self.builder.mul(i, i64(TILE_HEIGHT)), size
            self.add_tile(left, (left[0], 0))
            self.loop_indices(
                i,
                lambda j: self.add_tile(
                    left, (self.builder.mul(j, i64(TILE_HEIGHT)), TILE_HEIGHT), pairs_of_left=False
                ),
            )

        self.loop_indices(i64(n_whole), lambda i: row_of_tiles(i, TILE_HEIGHT))
        if rest:
            row_of_tiles(i64(n_whole), rest)

    def accumulate_over_blocks(self, sum_locations, of_block):
        """Carry sums in registers from the first block to the last: the bits of one by one."""
        starts = [self.emit.load(*position) for position in sum_locations]
        ends = self.emit.loop_rows(self.n_blocks, of_block, starts)
        for position, value in zip(sum_locations, ends, strict=True):
            self.emit.store(value, *position)

    def add_strip(self, strip, loop_index):
        """Add gradient and information of a strip of few variables in one loop over rows.

        For a in the strip and c <= a: sum w p x_a x_c over the rows of a block, and then subtract
        w mean_a mean_c, as the means are known only after the loop.
        """
        emit, variables = self.emit, range(strip.stop)
        pairs = [(a, c) for a in strip for c in range(a + 1)]
        is_first, is_last = strip.start == 0, strip.stop == self.d

        def of_row(row, carried, weighted):
            self.prefetch_next(row, loop_index)
            p = self.load_e(row)
            if is_first:
                p = emit.mul(p, weighted)
            if is_first and not is_last:
                self.store_e(row, p)
            x = [self.load_variable(row, (i64(0), a)) for a in variables]
            part = {a: emit.mul(p, x[a]) for a in strip}
            added = [emit.mul(part[a], x[c]) for a, c in pairs] + list(part.values())
            return [emit.add(value, total) for value, total in zip(added, carried, strict=True)]

        def of_block(k, totals):
            weighted = self.load_note(k, i64(self.MASS)) if is_first else None
            starts = [*totals, *[emit.splat(0.0)] * len(strip)]
            ends = self.loop_rows(k, lambda row, carried: of_row(row, carried, weighted), starts)
            slots = [i64(self.MEANS + a) for a in variables]
            sums = [self.load_note(k, slot) for slot in slots[: strip.start]] + ends[len(pairs) :]
            mean = {a: emit.mul(sums[a], self.load_note(k, i64(self.TOP))) for a in strip}
            for a in strip:
                self.store_note(k, slots[a], sums[a])
                self.add_to_total(i64(1 + a), sums[a])
            return [
                emit.sub(total, emit.mul(mean[a], sums[c]))
                for (a, c), total in zip(pairs, ends, strict=False)
            ]

        self.accumulate_over_blocks(
            self.sum_locations([((i64(0), a), (i64(0), c)) for a, c in pairs]), of_block
        )

    def store_weight_factors(self, block, weight, mass):
        """Store 1 / weight in TOP, and weight / mass, which turns e into w p, in MASS.

        Both slots are free by now. One division serves both, done before the loop over rows that
        would wait for it. Decisions of weight 0 get a factor of 0.
        """
        emit = self.emit
        counts = self.builder.fcmp_ordered(">", weight, emit.splat(MIN_INVERTIBLE_WEIGHT))
        positive = self.builder.select(counts, weight, emit.splat(1.0))
        both = self.builder.fdiv(emit.splat(1.0), emit.mul(positive, mass))
        self.store_note(block, i64(self.TOP), emit.mul(both, mass))
        self.store_note(block, i64(self.MASS), emit.mul(weight, emit.mul(both, positive)))

    def add_strip_of_pairs(self, strip, loop_index):
        """Add gradient and information of sets of two options: w p x_a, w p (1 - p) x_a x_c."""
        emit = self.emit
        pairs = [(a, c) for a in strip for c in range(a + 1)]

        def of_block(k, totals):
            self.prefetch_next(k, loop_index)
            if strip.start == 0:
                p = emit.mul(self.load_e(k), self.inverse_mass(k))
                first = emit.mul(self.load_decision_weights(k), p)
                second = emit.sub(first, emit.mul(first, p))
                self.store_e(k, first)
                self.store_note(k, i64(self.TOP), second)
            else:
                first, second = self.load_e(k), self.load_note(k, i64(self.TOP))
            x = [self.load_variable(k, (i64(0), a)) for a in range(strip.stop)]
            part = {a: emit.mul(second, x[a]) for a in strip}
            added = [emit.mul(part[a], x[c]) for a, c in pairs]
            added += [emit.mul(first, x[a]) for a in strip]
            return [emit.add(value, total) for value, total in zip(added, totals, strict=True)]

        sum_locations = self.sum_locations([((i64(0), a), (i64(0), c)) for a, c in pairs])
        self.accumulate_over_blocks(
            [*sum_locations, *[(self.total, i64((1 + a) * LANES)) for a in strip]], of_block
        )

    def inverse_mass(self, block):
        return self.builder.fdiv(self.emit.splat(1.0), self.load_note(block, i64(self.MASS)))

    def add_means(self, block, variables):
        """Add minus the gradient and store means; with the last variable, replace e by w p."""
        emit, builder = self.emit, self.builder
        weight, inverse_mass = self.load_decision_weights(block), self.inverse_mass(block)
        weighted = emit.mul(weight, inverse_mass)
        is_last = variables[-1][1] == self.d - 1

        def body(row, carried):
            e = self.load_e(row)
            if is_last:
                self.prefetch_next(row, 1)
                self.store_e(row, emit.mul(e, weighted))
            return [
                emit.fma(e, self.load_variable(row, a), total)
                for a, total in zip(variables, carried, strict=True)
            ]

        sums = self.loop_rows(block, body, [emit.splat(0.0)] * len(variables))
        for a, value in zip(variables, sums, strict=True):
            mean = emit.mul(value, inverse_mass)
            self.store_note(block, self.mean_slot(a), mean)
            self.add_to_total(builder.add(self.variable_offset(a), i64(1)), emit.mul(weight, mean))

    def add_tile(self, left, right, pairs_of_left=True, loop_index=None):
        """Add covariances of pairs of variables, sum p (x_a - mean_a) x_c: the chosen option has 0.

        left, right : first variable, and how many. a is of the left; c is of the right, and where
        `pairs_of_left` of the left up to a. The sums stay in registers from the first row of all
        blocks to the last, in the order of block after block; centring x_a first avoids
        cancellation.
        loop_index : position in the prefetch schedule, for loops that are unrolled
        """
        emit = self.emit
        of_left = [(left[0], k) for k in range(left[1])]
        of_right = [(right[0], o) for o in range(right[1])]
        pairs = [(a, c) for k, a in enumerate(of_left) for c in of_left[: (k + 1) * pairs_of_left]]
        pairs += [(a, c) for a in of_left for c in of_right]

        def of_row(row, carried, mean):
            if loop_index is not None:
                self.prefetch_next(row, loop_index)
            p = self.load_e(row)
            x = {a: self.load_variable(row, a) for a in of_left}
            weighted = {a: emit.mul(p, emit.sub(x[a], mean[a])) for a in of_left}
            x |= {c: self.load_variable(row, c) for c in of_right}
            return [
                emit.fma(weighted[a], x[c], total)
                for (a, c), total in zip(pairs, carried, strict=True)
            ]

        def of_block(k, sums):
            mean = {a: self.load_note(k, self.mean_slot(a)) for a in of_left}
            return self.loop_rows(k, lambda row, carried: of_row(row, carried, mean), sums)

        self.accumulate_over_blocks(self.sum_locations(pairs), of_block)

    def mean_slot(self, name):
        return self.builder.add(self.variable_offset(name), i64(self.MEANS))

    def sum_locations(self, pairs):
        """Pointer and index of the sum of each pair in the total."""
        builder, rows = self.builder, {}
        for a, (first, _) in pairs:
            if (a, first) not in rows:
                number = self.variable_offset(a)
                before = builder.lshr(builder.mul(number, builder.add(number, i64(1))), i64(1))
                slot = builder.add(builder.add(before, first), i64(1 + self.d))
                rows[a, first] = builder.gep(self.total, [builder.mul(slot, i64(LANES))])
        return [(rows[a, first], i64(o * LANES)) for a, (first, o) in pairs]
