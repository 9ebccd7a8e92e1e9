"""However choices are cut, passes over the pieces end as memory does: small cases of all kinds."""

from dataclasses import dataclass

import numpy as np
import pytest

import penchant as pn
from penchant.choices.scan_protocols import Chunks


@dataclass(frozen=True)
class Cut(Chunks):
    """Choices in memory, cut between decisions."""

    choices: pn.Choices
    edges: tuple[int, ...]

    @property
    def names(self):
        return self.choices.names

    @property
    def n_chunks(self):
        return len(self.edges) - 1

    def with_engine(self, engine, threads):
        return self

    def map_chunks(self, work, what, again=False):
        for begin, end in zip(self.edges[:-1], self.edges[1:], strict=True):
            yield work(self.choices.subset(np.arange(begin, end)))

    def describe(self):
        return f"{self.n_chunks} pieces"


def _case(seed):
    """A small problem: separated, dependent or sound; ragged, weighted or with offsets."""
    rng = np.random.default_rng(seed)
    n, m, d = int(rng.integers(6, 40)), int(rng.integers(2, 5)), int(rng.integers(1, 5))
    x = rng.normal(size=(n, m, d))
    if seed % 2:
        x = rng.integers(-2, 3, size=(n, m, d)) * 10.0 ** rng.integers(-6, 7, size=d)
    if seed % 3 == 0 and d > 1:
        x[:, :, -1] = 2 * x[:, :, 0] + rng.normal(size=(n, 1))
    size = rng.choice([0.3, 2.0, 50.0])
    chosen = (x @ rng.normal(size=d) * size + rng.gumbel(size=(n, m))).argmax(axis=1)
    given = {}
    if rng.random() < 0.3:
        given["offset"] = rng.normal(size=(n, m)) * rng.choice([1.0, 30.0])
    if rng.random() < 0.3:
        given["weights"] = np.append(1, rng.integers(0, 3, n - 1))
    if rng.random() < 0.3:
        given["available"] = rng.random((n, m)) < 0.8
        given["available"][np.arange(n), chosen] = True
        given["available"][0] = True
    edges = (0, *np.unique(rng.integers(1, n, 3)).tolist(), n)
    return Cut(pn.Choices.from_arrays(x, chosen, **given), edges)


@pytest.mark.parametrize("seed", range(40))
def test_passes_over_pieces_end_as_memory_does(seed):
    cut = _case(seed)
    assert isinstance(cut, Chunks)
    passed, memory = pn.fit(cut), pn.fit(cut.choices)
    assert passed.status == memory.status
    assert passed.log_likelihood == pytest.approx(memory.log_likelihood, rel=1e-10, abs=1e-9)
    assert passed.null_log_likelihood == pytest.approx(memory.null_log_likelihood, rel=1e-12)
    # some of these maxima are ill-conditioned: their last digits are rounding
    np.testing.assert_allclose(passed.theta, memory.theta, rtol=1e-7)
    one, other = passed.diagnostics, memory.diagnostics
    assert (one.rank, one.certificate) == (other.rank, other.certificate)
    if other.separation is not None:
        assert one.separation.kind == other.separation.kind
        assert one.separation.n_resolved == other.separation.n_resolved


def test_the_cases_are_of_many_kinds():
    found = {pn.fit(_case(seed).choices).status for seed in range(40)}
    assert found >= {"converged", "separated", "not identified"}
