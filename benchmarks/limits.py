"""What the machine allows: reading the packed variables, and taking exponentials.

An evaluation of the log-likelihood must at least read every packed number once and take one
exponential for every option that was not chosen. The larger of the two times is its limit.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit
from numba.core import types
from numba.extending import intrinsic

from penchant.softmax._moment_codegen import LANES, VectorBuilder

AT_ONCE = 4  # vectors in flight; more gain nothing
IN_CACHE = 1_024  # numbers whose exponentials are taken again and again

_INT = ir.IntType(64)


def _data(context, builder, signature, arguments, i):
    return context.make_array(signature.args[i])(context, builder, arguments[i]).data


@intrinsic
def _sum_rows(typingctx, source, n_rows, target):
    """Add up source, 8 * AT_ONCE numbers a row, into the first 8 of target."""

    def build(context, builder, signature, arguments):
        emit = VectorBuilder(builder)
        numbers = _data(context, builder, signature, arguments, 0)

        def body(row, carried):
            base = builder.mul(row, ir.Constant(_INT, LANES * AT_ONCE))
            places = [builder.add(base, ir.Constant(_INT, LANES * k)) for k in range(AT_ONCE)]
            return [
                emit.add(total, emit.load(numbers, place))
                for total, place in zip(carried, places, strict=True)
            ]

        totals = emit.loop_rows(arguments[1], body, [emit.constant_vector(0.0)] * AT_ONCE)
        whole = totals[0]
        for total in totals[1:]:
            whole = emit.add(whole, total)
        emit.store(whole, _data(context, builder, signature, arguments, 2), ir.Constant(_INT, 0))
        return context.get_dummy_value()

    return types.void(source, types.int64, target), build


@intrinsic
def _exp_rows(typingctx, source, n_rows, target):
    """Take the likelihood kernel's own powers of 2 of n_rows vectors of eight numbers <= 0."""

    def build(context, builder, signature, arguments):
        emit = VectorBuilder(builder)
        numbers = _data(context, builder, signature, arguments, 0)
        results = _data(context, builder, signature, arguments, 2)

        def body(row, carried):
            place = builder.mul(row, ir.Constant(_INT, LANES))
            emit.store(emit.power_of_two(emit.load(numbers, place)), results, place)
            return []

        emit.loop_rows(arguments[1], body, [])
        return context.get_dummy_value()

    return types.void(source, types.int64, target), build


@njit(nogil=True)
def read_all(values, target):
    """Read an array from memory once: the sum of its numbers, but for the last few."""
    _sum_rows(values, len(values) // (LANES * AT_ONCE), target)
    return target[:LANES].sum()


@njit(nogil=True)
def exponentials(numbers, n_exponentials, target):
    """Take at least n_exponentials exponentials of numbers that stay in the cache."""
    taken = 0
    while taken < n_exponentials:
        _exp_rows(numbers, len(numbers) // LANES, target)
        taken += len(numbers)
    return taken
