"""Code generation for one kernel: log-likelihood, gradient and information of eight decisions.

The sums of Eq. (5) are written as LLVM instructions with llvmlite, blocked for registers (the sums
of a tile of variable pairs stay in registers, as in the matrix product of Goto and van de Geijn,
2008), because numba's own vectoriser is 2 to 9 times slower here. `moment_kernel` compiles the code
for a number of variables and gives its address to numba loops, which are themselves compiled once
for every number of variables. Relies on numba's intrinsics and on the processor's features.

Numba's interface for intrinsics and llvmlite's for instructions are not stable. Outside the
versions in `KNOWN_VERSIONS`, where code generation fails, or with PENCHANT_KERNELS=plain in the
environment, `_moment_loops_without_codegen` takes its place: the same sums, slower.
PENCHANT_KERNELS=generated disregards the versions.
"""

import math
import os
from threading import Lock
from typing import Any

import llvmlite
import numba
from llvmlite import binding, ir
from numba.core import config, types
from numba.extending import intrinsic

from penchant._numba_cache import inner_njit, njit, print_once
from penchant.softmax import _moment_loops_without_codegen as plain
from penchant.softmax._moment_loops_without_codegen import MOMENTS_SIGNATURE, ROWS_SIGNATURE

# First version that the generated code is known to work with, and the first that it is not.
KNOWN_VERSIONS = {numba: ((0, 60), (0, 69)), llvmlite: ((0, 43), (0, 51))}

LANES = 8  # decisions per block: the doubles of one AVX-512 register, or of one cache line

DOUBLE = ir.DoubleType()
INT = ir.IntType(64)

_INT32 = ir.IntType(32)
_FUSED = ("contract",)  # products and sums may be fused: faster, and one rounding fewer
_LOG2_E = 1.4426950408889634  # log2(e): exponents of two from natural ones
# log 2 in two parts (Cody and Waite, 1980): k * high is exact for every exponent k of a double, so
# that reducing the argument of an exponential loses no digit.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10  # log 2 - _LN2_HIGH
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
# The double sqrt(1/2) as an integer. `log` takes mantissas between sqrt(1/2) and sqrt(2), around 1,
# where its series converges fastest, rather than between 1 and 2.
_SQRT_HALF_BITS = 0x3FE6A09E667F3BCD


def _is_supported_version(module: Any) -> bool:
    """Whether the version of a module is one that the generated code is known to work with."""
    first, beyond = KNOWN_VERSIONS[module]
    version = tuple(int(part) for part in module.__version__.split(".")[:2])
    return first <= version < beyond


def uses_generated_kernels() -> bool:
    """Whether kernels are generated; else they are plain loops."""
    asked = os.environ.get("PENCHANT_KERNELS", "")
    return asked != "plain" and (
        asked == "generated" or all(map(_is_supported_version, KNOWN_VERSIONS))
    )


GENERATES_CODE = uses_generated_kernels()


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

    def constant_vector(self, number):
        return ir.Constant(self.vector, [ir.Constant(DOUBLE, number)] * self.lanes)

    def constant_int_vector(self, number):
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
            self.builder.and_(bits, self.constant_int_vector(2**63 - 1)), self.vector
        )

    def max(self, a, b):
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def polynomial(self, coefficients, x):
        """Evaluate a polynomial by Horner's rule on even and odd powers: two independent chains."""
        square, chains = self.mul(x, x), []
        for terms in (coefficients[::2], coefficients[1::2]):
            total = self.constant_vector(terms[-1])
            for c in terms[-2::-1]:
                total = self.fma(total, square, self.constant_vector(c))
            chains.append(total)
        return self.fma(chains[1], x, chains[0])

    def exp(self, x):
        """exp for x <= 700, to about 1 unit in the last place; 3e-308 for x below -708.

        x = k log 2 + r; exp x = 2^k exp r.
        """
        # below, the exponent would overflow into the sign bit
        inside = self.max(x, self.constant_vector(_MIN_EXP_ARGUMENT))
        shifted = self.fma(
            inside, self.constant_vector(_LOG2_E), self.constant_vector(_ROUNDING_SHIFT)
        )
        k = self.builder.fsub(shifted, self.constant_vector(_ROUNDING_SHIFT))
        r = self.fma(k, self.constant_vector(-_LN2_HIGH), inside)
        r = self.fma(k, self.constant_vector(-_LN2_LOW), r)
        return self.scale_by_power_of_two(self.polynomial(_EXP_COEFFICIENTS, r), shifted)

    def scale_by_power_of_two(self, x, shifted):
        """2^k x, by adding k, the low bits of `shifted`, to the exponent bits of x."""
        bits = self.builder.bitcast(x, self.ints)
        power = self.builder.shl(
            self.builder.bitcast(shifted, self.ints), self.constant_int_vector(52)
        )
        return self.builder.bitcast(self.builder.add(bits, power), self.vector)

    def log(self, x):
        """log for normal x > 0: x = 2^k m, log m by the series of atanh((m - 1)/(m + 1))."""
        bits = self.builder.bitcast(x, self.ints)
        k = self.builder.ashr(
            self.builder.sub(bits, self.constant_int_vector(_SQRT_HALF_BITS)),
            self.constant_int_vector(52),
        )
        m = self.builder.bitcast(
            self.builder.sub(bits, self.builder.shl(k, self.constant_int_vector(52))), self.vector
        )
        f = self.builder.fdiv(
            self.sub(m, self.constant_vector(1.0)), self.add(m, self.constant_vector(1.0))
        )
        square = self.mul(f, f)
        # the odd series converges fast: |f| <= 0.172, where ten terms reach the last digit
        tail = self.polynomial([2.0 / (2 * j + 3) for j in range(10)], square)
        exponent = self.builder.sitofp(k, self.vector)
        small = self.fma(
            exponent, self.constant_vector(_LN2_LOW), self.mul(self.mul(f, square), tail)
        )
        log_m = self.add(self.add(f, f), small)
        return self.fma(exponent, self.constant_vector(_LN2_HIGH), log_m)

    def loop_rows(self, n_rows, body, starts):
        """Emit a loop over rows that carries vectors in registers; returns their last values."""
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


@intrinsic
def _exponentiate_eight_generated(typingctx, values, first):
    def build(context, builder, signature, arguments):
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        emit = VectorBuilder(builder)
        emit.store(emit.exp(emit.load(data, arguments[1])), data, arguments[1])
        return context.get_dummy_value()

    return types.void(values, types.int64), build


@inner_njit
def _exponentiate_eight_plain(values, first):
    for i in range(first, first + LANES):
        values[i] = math.exp(max(values[i], _MIN_EXP_ARGUMENT))


_exponentials_of_eight = (
    _exponentiate_eight_generated if GENERATES_CODE else _exponentiate_eight_plain
)


@inner_njit
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


# Addresses of `add_block_moments` and `write_rows_relative_to_chosen`, number of variables, number
# of columns. Addresses, as numba would compile every caller anew for a function that is passed as a
# function.
MomentKernel = tuple[int, int, int, int]

called_by_address = plain.called_by_address
_moment_kernels: dict[tuple[int, bool], tuple[MomentKernel, Any]] = {}
_lock = Lock()


def moment_kernel(n_parameters: int, has_offset: bool) -> MomentKernel:
    """Compile the moment kernel for a number of variables, or return the one compiled before.

    Returns
    -------
    Addresses of `add_block_moments` and `write_rows_relative_to_chosen`, number of variables, and
    number of columns (one more than variables where there is an offset)
    """
    key = n_parameters, has_offset
    if key in _moment_kernels:
        return _moment_kernels[key][0]
    with _lock:  # compile once, also if several threads ask at the same time
        if key not in _moment_kernels:
            addresses, functions = _compile_moment_kernel((0,) * n_parameters, (0,) * has_offset)
            kind = (*addresses, n_parameters, n_parameters + has_offset)
            _moment_kernels[key] = kind, functions  # keeps the machine code alive
        return _moment_kernels[key][0]


def _compile_moment_kernel(
    variables: tuple[int, ...], offset: tuple[int, ...]
) -> tuple[tuple[int, int], tuple[Any, Any]]:
    """Compile `add_block_moments` and `write_rows_relative_to_chosen`: addresses and functions."""
    if GENERATES_CODE:
        try:
            return _addresses_and_functions(
                _make_block_moments(variables, offset), _make_relative_rows(variables, offset)
            )
        except Exception as error:  # of numba or llvmlite, of any kind: their interface has changed
            print_once(
                f"penchant: vector code could not be generated ({type(error).__name__}); plain "
                "loops take its place, which are slower."
            )
    elif not all(map(_is_supported_version, KNOWN_VERSIONS)):
        print_once(
            f"penchant: plain loops instead of vector code, which is not known to work with numba "
            f"{numba.__version__} and llvmlite {llvmlite.__version__}; PENCHANT_KERNELS=generated "
            "tries it."
        )
    return _addresses_and_functions(
        plain.make_block_moments(variables, offset), plain.make_relative_rows(variables, offset)
    )


def _addresses_and_functions(moments: Any, rows: Any) -> tuple[tuple[int, int], tuple[Any, Any]]:
    addresses = address_of(moments, MOMENTS_SIGNATURE), address_of(rows, ROWS_SIGNATURE)
    return addresses, (moments, rows)


def address_of(function: Any, signature: Any) -> int:
    """Compile a function for a signature and return its address, for calls from other loops."""
    made = function.get_compile_result(signature)
    return int(made.library.get_pointer_to_function(made.fndesc.llvm_cfunc_wrapper_name))


def _make_block_moments(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """Compile `add_block_moments` for a number of variables.

    Numbers are passed as lengths of tuples: these are types, and so part of numba's cache key.
    """

    @called_by_address
    def moments(values, n_rows, n_blocks, theta, side, scratch, total):
        _block_moments_intrinsic(
            values, n_rows, n_blocks, theta, side, scratch, total, variables, offset
        )

    return moments


def _make_relative_rows(variables: tuple[int, ...], offset: tuple[int, ...]) -> Any:
    """`write_rows_relative_to_chosen` for a number of variables."""

    @called_by_address
    def rows(table, sources, n_rows, references, values, size):
        _relative_rows_intrinsic(
            table, sources, n_rows, references, values, size, variables, offset
        )

    return rows


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
def add_block_moments(typingctx, kind, values, position, sizes, theta, side, block, scratch, total):
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
    total : flat (1 + d + d(d+1)/2, 8): log-likelihood, minus the gradient, information
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
def write_rows_relative_to_chosen(
    typingctx, kind, table, sources, n_rows, references, values, position, size
):
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
    """Emit `write_rows_relative_to_chosen` for d variables."""
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
# Up to here all sums of a row fit in registers: means and products are taken in one loop.
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


def _vector_register_count_and_lanes():
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


def _n_strip_registers(n_variables_before, height):
    """Number of registers that hold the sums of a strip of variables and the row added to them.

    The sums are those of pairs of a variable of the strip with each of the `n_variables_before`
    variables before it, or with those of the strip up to itself; the means of the strip stay in
    registers too.
    """
    return height * n_variables_before + height * (height + 1) // 2 + 2 * height + 1


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


N_REGISTERS, REGISTER_LANES = _vector_register_count_and_lanes()
# Lanes per exponential: with registers of two, several chains side by side hide latency (measured).
EXP_LANES = LANES if REGISTER_LANES == 2 else REGISTER_LANES
TILE_HEIGHT = _variable_strips(N_REGISTERS)[0][1]


def _prefetch_schedule(d, n_columns):
    """Cache lines that each loop over rows prefetches per row, and how many were prefetched before.

    The loop of the exponentials comes first, that of the means of many variables second. Memory
    cannot deliver a whole row during one loop, so each loop prefetches in proportion to its
    multiplications.
    """
    loops = [(len(_EXP_COEFFICIENTS) + 4, EXP_LANES)]
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
    """Emit the probabilities of all blocks, then the sums, a register's decisions at a time."""
    blocks = _BlockMomentsEmitter(VectorBuilder(builder), pointers, sizes, d, n_columns, i64(0))
    blocks.add_log_likelihoods()
    blocks.loop_lane_groups(REGISTER_LANES, _BlockMomentsEmitter.add_gradient_and_information)


class _BlockMomentsEmitter:
    """Emitter of the moments of several blocks, for `emit.lanes` decisions of each at a time.

    Rows are relative to the chosen option. The sums of all eight decisions would not fit in narrow
    registers, hence the parts. What one loop leaves to the next is stored behind the rows of the
    scratch: for each block TOP, MASS and the means.
    """

    TOP, MASS, MEANS = 0, 1, 2

    def __init__(self, emit, pointers, sizes, d, n_columns, part):
        builder = emit.builder
        self.emit, self.builder, self.part = emit, builder, part
        self.n_rows, self.n_blocks = sizes
        self.n_all = builder.mul(*sizes)
        self.d, self.n_columns, self.pointers = d, n_columns, pointers
        self.values, self.theta, side, scratch, total = pointers
        notes = builder.gep(scratch, [builder.mul(self.n_all, i64(LANES))])
        first = builder.mul(part, i64(emit.lanes))
        self.rows, self.side, self.scratch, self.notes, self.total = (
            builder.gep(pointer, [first]) for pointer in (self.values, side, scratch, notes, total)
        )
        self.prefetch_schedule = _prefetch_schedule(d, n_columns)

    def loop_indices(self, n, body):
        """Emit a loop over blocks or tiles that carries nothing."""

        def carrying_nothing(i, carried):
            body(i)
            return []

        self.emit.loop_rows(n, carrying_nothing, [])

    def loop_lane_groups(self, lanes, handle_part):
        """Emit a loop over the parts of the blocks, `lanes` decisions of each at a time."""
        sizes = self.n_rows, self.n_blocks

        def of_part(i):
            emit = VectorBuilder(self.builder, lanes)
            handle_part(_BlockMomentsEmitter(emit, self.pointers, sizes, self.d, self.n_columns, i))

        self.loop_indices(i64(LANES // lanes), of_part)

    def loop_rows(self, block, body, starts):
        """Emit a loop over the rows of a block, counted from the first row of all blocks."""
        first = self.builder.mul(block, self.n_rows)
        return self.emit.loop_rows(
            self.n_rows, lambda r, carried: body(self.builder.add(first, r), carried), starts
        )

    def index_of_variable(self, name):
        """Index of a variable that is given as (index known at run time, constant offset)."""
        return self.builder.add(name[0], i64(name[1]))

    def load_variable(self, row, index_and_offset):
        base = self.builder.mul(row, i64(self.n_columns * LANES))
        position = self.builder.mul(self.index_of_variable(index_and_offset), i64(LANES))
        return self.emit.load(self.rows, self.builder.add(base, position))

    def load_scratch_row(self, row):
        return self.emit.load(self.scratch, self.builder.mul(row, i64(LANES)))

    def store_scratch_row(self, row, value):
        self.emit.store(value, self.scratch, self.builder.mul(row, i64(LANES)))

    def block_value_position(self, block, slot):
        base = self.builder.mul(block, i64((self.MEANS + self.d) * LANES))
        return self.builder.add(base, self.builder.mul(slot, i64(LANES)))

    def load_block_value(self, block, slot):
        return self.emit.load(self.notes, self.block_value_position(block, slot))

    def store_block_value(self, block, slot, value):
        self.emit.store(value, self.notes, self.block_value_position(block, slot))

    def load_decision_weights(self, block):
        return self.emit.load(self.side, self.builder.mul(block, i64(2 * LANES)))

    def load_padding_rows(self, block):
        position = self.builder.mul(block, i64(2 * LANES))
        return self.emit.load(self.side, self.builder.add(position, i64(LANES)))

    def initial_sum_of_exponentials(self, block):
        """Sum of exponentials before the rows are added: 1 for the chosen option less the padding.

        Padding rows have q = 0 and add 1 each, which is subtracted in advance.
        """
        return self.emit.sub(self.emit.constant_vector(1.0), self.load_padding_rows(block))

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
        self.store_utilities_and_exponentials(theta)
        self.loop_indices(self.n_blocks, self.add_log_likelihood)

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
                self.store_utilities([self.emit.broadcast(x) for x in theta])
                self.loop_lane_groups(EXP_LANES, _BlockMomentsEmitter.add_exponentials)

    def store_utilities(self, weights):
        """Store q = theta'x of every row, the chosen option's being 0, and the initial masses.

        The largest q of a decision is subtracted only where an exponential might overflow, because
        that takes one more loop and one more exponential.
        """
        emit, builder = self.emit, self.builder

        def body(row, carried):
            q = self.utility(row, weights)
            self.store_scratch_row(row, q)
            return [emit.max(emit.absolute(q), carried[0])]

        (farthest,) = emit.loop_rows(self.n_all, body, [emit.constant_vector(0.0)])
        is_far = builder.fcmp_ordered(">", farthest, emit.constant_vector(MAX_UNSHIFTED_UTILITY))
        with builder.if_else(self.any_lane(is_far)) as (far, near):
            with far:
                self.loop_indices(self.n_blocks, self.subtract_largest_utility)
            with near:
                self.loop_indices(self.n_blocks, self.store_zero_shift)

    def utility(self, row, weights):
        """Utility theta'x of a row."""
        q = self.emit.mul(weights[0], self.load_variable(row, (i64(0), 0)))
        for a in range(1, self.n_columns):
            q = self.emit.fma(weights[a], self.load_variable(row, (i64(0), a)), q)
        return q

    def subtract_largest_utility(self, block):
        """Subtract the largest q of each decision from its rows, where it is large.

        It depends on the decision alone, so that bits do not depend on its neighbours in the block.
        """
        emit, lowest = self.emit, self.emit.constant_vector(_MIN_EXP_ARGUMENT)
        zero = [emit.constant_vector(0.0)]
        (top,) = self.loop_rows(
            block, lambda row, c: [emit.max(self.load_scratch_row(row), c[0])], zero
        )
        is_high = self.builder.fcmp_ordered(">", top, emit.constant_vector(MAX_UNSHIFTED_UTILITY))
        shift = self.builder.select(is_high, top, emit.constant_vector(0.0))

        def body(row, carried):
            q = emit.max(emit.sub(self.load_scratch_row(row), shift), lowest)
            self.store_scratch_row(row, q)
            return []

        self.loop_rows(block, body, [])
        chosen = self.emit.exp(emit.max(emit.sub(emit.constant_vector(0.0), shift), lowest))
        self.store_block_value(block, i64(self.TOP), shift)
        self.store_block_value(
            block, i64(self.MASS), emit.mul(chosen, self.initial_sum_of_exponentials(block))
        )

    def store_zero_shift(self, block):
        """Store the initial mass of a block in which no utility is large."""
        self.store_block_value(block, i64(self.TOP), self.emit.constant_vector(0.0))
        self.store_block_value(block, i64(self.MASS), self.initial_sum_of_exponentials(block))

    def add_exponentials(self):
        """Take exponentials of all blocks."""
        self.loop_indices(self.n_blocks, self.store_exponentials)

    def store_exponentials(self, block):
        """Replace q by exp q, and add it to MASS, which includes the chosen option."""

        def body(row, carried):
            (total,) = carried
            self.prefetch_next(row, 0)
            e = self.emit.exp(self.load_scratch_row(row))
            self.store_scratch_row(row, e)
            return [self.emit.add(total, e)]

        (total,) = self.loop_rows(block, body, [self.load_block_value(block, i64(self.MASS))])
        self.store_block_value(block, i64(self.MASS), total)

    def store_unit_exponentials(self, block):
        """Store exponentials and MASS at theta = 0, where every exponential is 1."""

        def body(row, carried):
            self.store_scratch_row(row, self.emit.constant_vector(1.0))
            return []

        self.loop_rows(block, body, [])
        others = self.emit.broadcast(self.builder.sitofp(self.n_rows, DOUBLE))
        self.store_block_value(block, i64(self.TOP), self.emit.constant_vector(0.0))
        self.store_block_value(
            block, i64(self.MASS), self.emit.add(others, self.initial_sum_of_exponentials(block))
        )

    def add_log_likelihood(self, block):
        """Add the log-likelihoods of a block."""
        emit, weight = self.emit, self.load_decision_weights(block)
        mass = self.load_block_value(block, i64(self.MASS))
        loss = emit.mul(
            weight, emit.add(emit.log(mass), self.load_block_value(block, i64(self.TOP)))
        )
        self.add_to_total(i64(0), emit.sub(emit.constant_vector(0.0), loss))
        if self.d <= MAX_FUSED_VARIABLES:
            self.store_weight_factors(block, weight, mass)

    def add_gradient_and_information(self):
        """Add gradient and information to the total."""
        if self.d <= MAX_FUSED_VARIABLES:
            for loop_index, (first, high) in enumerate(_variable_strips(self.d), 1):
                self.add_strip_moments(range(first, first + high), loop_index)
            return
        variables, most = [(i64(0), a) for a in range(self.d)], N_REGISTERS - 4
        for first in range(0, self.d, most):
            some = variables[first : first + most]
            self.loop_indices(self.n_blocks, lambda k, some=some: self.add_means(k, some))
        if self.d <= MAX_UNROLLED_VARIABLES:
            for loop_index, (first, high) in enumerate(_variable_strips(self.d), 2):
                self.add_tile_covariances(
                    (i64(first), high), (i64(0), first), loop_index=loop_index
                )
            return
        n_whole, rest = divmod(self.d, TILE_HEIGHT)

        def row_of_tiles(i, size):
            left = self.builder.mul(i, i64(TILE_HEIGHT)), size
            self.add_tile_covariances(left, (left[0], 0))
            self.loop_indices(
                i,
                lambda j: self.add_tile_covariances(
                    left, (self.builder.mul(j, i64(TILE_HEIGHT)), TILE_HEIGHT), pairs_of_left=False
                ),
            )

        self.loop_indices(i64(n_whole), lambda i: row_of_tiles(i, TILE_HEIGHT))
        if rest:
            row_of_tiles(i64(n_whole), rest)

    def accumulate_over_blocks(self, addresses_of_sums, of_block):
        """Carry sums in registers from the first block to the last: the bits of one by one."""
        starts = [self.emit.load(*position) for position in addresses_of_sums]
        ends = self.emit.loop_rows(self.n_blocks, of_block, starts)
        for position, value in zip(addresses_of_sums, ends, strict=True):
            self.emit.store(value, *position)

    def add_strip_moments(self, strip, loop_index):
        """Add gradient and information of a strip of few variables in one loop over rows.

        For a in the strip and c <= a: sum w p x_a x_c over the rows of a block, and then subtract
        w mean_a mean_c, as the means are known only after the loop.
        """
        emit, variables = self.emit, range(strip.stop)
        pairs = [(a, c) for a in strip for c in range(a + 1)]
        is_first, is_last = strip.start == 0, strip.stop == self.d

        def of_row(row, carried, weighted):
            self.prefetch_next(row, loop_index)
            p = self.load_scratch_row(row)
            if is_first:
                p = emit.mul(p, weighted)
            if is_first and not is_last:
                self.store_scratch_row(row, p)
            x = [self.load_variable(row, (i64(0), a)) for a in variables]
            part = {a: emit.mul(p, x[a]) for a in strip}
            added = [emit.mul(part[a], x[c]) for a, c in pairs] + list(part.values())
            return [emit.add(value, total) for value, total in zip(added, carried, strict=True)]

        def of_block(k, totals):
            weighted = self.load_block_value(k, i64(self.MASS)) if is_first else None
            starts = [*totals, *[emit.constant_vector(0.0)] * len(strip)]
            ends = self.loop_rows(k, lambda row, carried: of_row(row, carried, weighted), starts)
            slots = [i64(self.MEANS + a) for a in variables]
            sums = [self.load_block_value(k, slot) for slot in slots[: strip.start]] + ends[
                len(pairs) :
            ]
            mean = {a: emit.mul(sums[a], self.load_block_value(k, i64(self.TOP))) for a in strip}
            for a in strip:
                self.store_block_value(k, slots[a], sums[a])
                self.add_to_total(i64(1 + a), sums[a])
            return [
                emit.sub(total, emit.mul(mean[a], sums[c]))
                for (a, c), total in zip(pairs, ends, strict=False)
            ]

        self.accumulate_over_blocks(
            self.addresses_of_sums([((i64(0), a), (i64(0), c)) for a, c in pairs]), of_block
        )

    def store_weight_factors(self, block, weight, mass):
        """Store 1 / weight in TOP, and weight / mass, which turns e into w p, in MASS.

        Both slots are free by now. One division serves both, done before the loop over rows that
        would wait for it. Decisions of weight 0 get a factor of 0.
        """
        emit = self.emit
        counts = self.builder.fcmp_ordered(">", weight, emit.constant_vector(MIN_INVERTIBLE_WEIGHT))
        positive = self.builder.select(counts, weight, emit.constant_vector(1.0))
        both = self.builder.fdiv(emit.constant_vector(1.0), emit.mul(positive, mass))
        self.store_block_value(block, i64(self.TOP), emit.mul(both, mass))
        self.store_block_value(block, i64(self.MASS), emit.mul(weight, emit.mul(both, positive)))

    def inverse_sum_of_exponentials(self, block):
        return self.builder.fdiv(
            self.emit.constant_vector(1.0), self.load_block_value(block, i64(self.MASS))
        )

    def add_means(self, block, variables):
        """Add minus the gradient and store means; with the last variable, replace e by w p."""
        emit, builder = self.emit, self.builder
        weight, inverse_sum_of_exponentials = (
            self.load_decision_weights(block),
            self.inverse_sum_of_exponentials(block),
        )
        weighted = emit.mul(weight, inverse_sum_of_exponentials)
        is_last = variables[-1][1] == self.d - 1

        def body(row, carried):
            e = self.load_scratch_row(row)
            if is_last:
                self.prefetch_next(row, 1)
                self.store_scratch_row(row, emit.mul(e, weighted))
            return [
                emit.fma(e, self.load_variable(row, a), total)
                for a, total in zip(variables, carried, strict=True)
            ]

        sums = self.loop_rows(block, body, [emit.constant_vector(0.0)] * len(variables))
        for a, value in zip(variables, sums, strict=True):
            mean = emit.mul(value, inverse_sum_of_exponentials)
            self.store_block_value(block, self.mean_slot(a), mean)
            self.add_to_total(
                builder.add(self.index_of_variable(a), i64(1)), emit.mul(weight, mean)
            )

    def add_tile_covariances(self, left, right, pairs_of_left=True, loop_index=None):
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
            p = self.load_scratch_row(row)
            x = {a: self.load_variable(row, a) for a in of_left}
            weighted = {a: emit.mul(p, emit.sub(x[a], mean[a])) for a in of_left}
            x |= {c: self.load_variable(row, c) for c in of_right}
            return [
                emit.fma(weighted[a], x[c], total)
                for (a, c), total in zip(pairs, carried, strict=True)
            ]

        def of_block(k, sums):
            mean = {a: self.load_block_value(k, self.mean_slot(a)) for a in of_left}
            return self.loop_rows(k, lambda row, carried: of_row(row, carried, mean), sums)

        self.accumulate_over_blocks(self.addresses_of_sums(pairs), of_block)

    def mean_slot(self, name):
        return self.builder.add(self.index_of_variable(name), i64(self.MEANS))

    def addresses_of_sums(self, pairs):
        """Pointer and index of the sum of each pair in the total."""
        builder, rows = self.builder, {}
        for a, (first, _) in pairs:
            if (a, first) not in rows:
                number = self.index_of_variable(a)
                before = builder.lshr(builder.mul(number, builder.add(number, i64(1))), i64(1))
                slot = builder.add(builder.add(before, first), i64(1 + self.d))
                rows[a, first] = builder.gep(self.total, [builder.mul(slot, i64(LANES))])
        return [(rows[a, first], i64(o * LANES)) for a, (first, o) in pairs]
