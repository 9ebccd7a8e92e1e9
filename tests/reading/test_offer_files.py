"""Files of offers and of clinic tasks, one trap each: read as meant, or asked about."""

import pyarrow as pa

import penchant as pn


def repeated(rows, people=("ann", "bob")):
    """The rows of one person, for everybody."""
    return pa.Table.from_pylist([{"id": who, **row} for who in people for row in rows])


def test_training_is_left_out_where_gambles_are_called_win_and_lose():
    real = [
        {"stage": "experiment", "win": 10 + t, "lose": -(5 + 7 * t % 11), "is_take": t % 2}
        for t in range(8)
    ]
    reading = pn.read(repeated([{**real[0], "stage": "training"}, *real]))
    assert [one.n_decisions for one in reading.data] == [8, 8]
    assert "2 rows left out: practice (stage is 'training')" in reading.summary()
