"""Lemma 1 and Theorem 1: the printed condition, the right one, and what both leave out."""

import numpy as np
import pytest

from penchant_paper.statements import printed_matrix, scatter_within, theorem_1


@pytest.fixture(scope="module")
def found():
    return theorem_1(rng=np.random.default_rng(1), n_replicates=10)


def test_lemma_1_does_not_hold_as_printed_and_says_what_is_missing(found):
    common, last = found.designs[:2]
    assert common.printed > 0.5 and common.within < 1e-12 and common.status == "not identified"
    assert last.printed == 0.0 and last.within > 0.1 and last.status == "converged"
    claim = found.claims[0]
    assert claim.verdict == "does not hold"
    assert claim.errata == (1, 2, 3)
    assert "x_i - x_m replaces x_i" in claim.why


def test_theorem_1_holds_in_part_for_separation_and_identification_are_missing(found):
    _, _, fine, separated = found.designs
    assert fine.within == separated.within and fine.status == "converged"
    assert separated.status == "separated"
    assert (np.diff(separated.log_likelihood) > 0).all()
    convex, normal = found.claims[1:]
    assert convex.verdict == "holds"
    assert normal.verdict == "holds in part"
    assert set(normal.errata) == {1, 7, 8}


def test_the_matrices_are_those_of_a_hand_calculation():
    x = np.array([[[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]]])
    np.testing.assert_allclose(printed_matrix(x), [[1.25, 1.5], [1.5, 5.0]])
    centred = x[0] - x[0].mean(axis=0)
    np.testing.assert_allclose(scatter_within(x), centred.T @ centred)


def test_differencing_gives_the_printed_matrix_the_rank_of_the_scatter():
    rng = np.random.default_rng(2)
    for zero in (0, 1):
        x = rng.normal(size=(7, 3, 2))
        x[..., 1] *= zero
        x[..., 1] += rng.normal(size=(7, 1))
        ranks = [
            np.linalg.matrix_rank(m, tol=1e-9)
            for m in (printed_matrix(x - x[:, -1:]), scatter_within(x))
        ]
        assert ranks[0] == ranks[1] == 1 + zero
