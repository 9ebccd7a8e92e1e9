"""Verdicts do not depend on the seed: at worst a run says that it cannot tell."""

import pytest

from penchant_paper.reproduction import Run, reproduce

EXPERIMENTS = ("figure-2", "figure-3", "figure-5", "tables", "theorem-1")
SEEDS = (1, 2, 3, 4)
OPEN = "not enough replicates to tell"


@pytest.fixture(scope="module")
def verdicts():
    """{(experiment, statement): verdicts over the seeds} of quick runs."""
    found = {}
    for seed in SEEDS:
        for result, claim in reproduce(EXPERIMENTS, run=Run(seed=seed, quick=True)).claims:
            found.setdefault((result.name, claim.statement), []).append(claim.verdict)
    return found


@pytest.mark.slow
def test_no_verdict_turns_round_with_the_seed(verdicts):
    for claim, told in verdicts.items():
        assert len(set(told) - {OPEN}) <= 1, (claim, told)


@pytest.mark.slow
def test_a_quick_run_says_what_it_cannot_tell(verdicts):
    unsure = {claim for claim, told in verdicts.items() if OPEN in told}
    assert any("overlap closely" in statement for _, statement in unsure)
    assert any("converges to the true value of theta" in statement for _, statement in unsure)
    assert ("figure-2", "The mean estimate converges to the true value.") not in unsure
