"""Experiments by name: the same seed gives the same numbers, alone or with others."""

import json

import pytest

from penchant.errors import DataError
from penchant.files.output import json_text
from penchant_paper.report import reproduction_document
from penchant_paper.reproduction import EXPERIMENTS, Run, reproduce

SMALL = {"n_replicates": 10, "quick": True}


def _document(*only, **how):
    """As in the file, where NaN is null and equal to itself."""
    return json.loads(json_text(reproduction_document(reproduce(only, run=Run(**SMALL | how)))))


def test_the_same_seed_gives_the_same_numbers_whatever_the_threads():
    one, two = (_document("figure-2", threads=threads) for threads in (1, 2))
    assert one == two


@pytest.mark.slow
def test_another_seed_gives_others():
    one, two = (_document("tables", seed=seed)["experiments"] for seed in (1, 2))
    assert one[0]["tables"]["artefact"] != two[0]["tables"]["artefact"]
    assert one[0]["tables"]["table-2"] == two[0]["tables"]["table-2"]  # nothing random


@pytest.mark.slow
def test_an_experiment_alone_is_the_same_as_with_others():
    alone = _document("tables")["experiments"][0]
    together = _document("figure-1", "tables")["experiments"][1]
    assert alone == together


def test_experiments_run_in_the_order_of_the_paper():
    begun = []
    found = reproduce(["landscapes", "figure-1"], begin=begun.append)
    assert begun == ["figure-1", "landscapes"]
    assert [result.name for result in found.results] == begun
    assert list(EXPERIMENTS)[:6] == [f"figure-{i}" for i in range(1, 7)]


def test_counts_are_of_all_claims():
    found = reproduce(["figure-1", "landscapes"])
    assert sum(found.counts().values()) == len(found.claims) == 4


def test_an_unknown_experiment_is_named_with_the_nearest():
    with pytest.raises(
        DataError, match=r"(?s)only must name experiments .*Did you mean 'figure-4'"
    ):
        reproduce(["figure4"])


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_replicates": 9}, "replicates must be at least 10, as bands are percentiles; got 9"),
        ({"seed": -1}, "seed must be 0 or more; got -1"),
        ({"threads": 0}, "threads must be at least 1; got 0"),
    ],
)
def test_a_run_that_cannot_be_is_refused(how, message):
    with pytest.raises(DataError, match=message):
        Run(**how)


def test_a_quick_run_has_fewer_replicates_unless_told():
    assert (Run().replicates, Run(quick=True).replicates) == (100, 20)
    assert Run(quick=True, n_replicates=33).replicates == 33
