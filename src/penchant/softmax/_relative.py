"""Rows of eight decisions relative to the options chosen, side by side."""

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from penchant.softmax._emit import LANES, VECTOR, Emit, at


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

        emit = Emit(builder)
        table, places, size = data(0), data(1), data(8)
        block = builder.gep(data(6), [arguments[7]])
        near = _gathered(builder, _begins(builder, table, data(3), at(0)), d)
        following = builder.mul(builder.add(arguments[2], at(1)), at(LANES * d))
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

        for j, largest in enumerate(emit.over_rows(arguments[2], body, starts)):
            emit.store(largest, size, at(j * LANES))
        return context.get_dummy_value()

    return types.void(
        rows, sources, types.int64, references, variables, offset, values, types.int64, size
    ), build


def _gathered(builder, begins, d):
    """Vectors of the d variables of the eight rows that begin at these places."""
    vectors = []
    for a in range(d):
        vector = ir.Constant(VECTOR, ir.Undefined)
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
