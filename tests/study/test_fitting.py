"""Parts that are kept: the same numbers whether they are new, old, or both."""

import json
import re
from functools import cache

import numpy as np
import pytest

from penchant.errors import DataError
from penchant.files.output import json_text
from penchant.report.study import carry_out
from penchant.studies import fitting
from penchant.studies.findings import TABLES
from penchant.studies.fitting import SubjectFit
from penchant.studies.landscapes import landscapes_of
from penchant.studies.plan import Plan, describe_changes, fingerprint
from small_study import MEANS, MODEL, NOMINALS, data, table

PLAN = Plan(MODEL, NOMINALS, n_replicates=2, n_bootstrap=5, intervals="wald", seed=3)


class Shelf:
    """Keeps documents as text, as a file would; stops where it is told to."""

    def __init__(self, stop=None):
        self.kept_texts = {}
        self.stop = stop

    def read(self, name):
        return json.loads(self.kept_texts[name]) if name in self.kept_texts else None

    def store(self, name, document):
        if len(self.kept_texts) == self.stop:
            raise KeyboardInterrupt
        self.kept_texts[name] = json_text(document)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(fitting, "SUBJECTS_PER_PART", 2)


def carried_out(storage=None, joint=True):
    return carry_out(data(), PLAN, landscape=MEANS, joint=joint, threads=1, storage=storage)


def tables(study):
    return {name: json_text(study.columns(name)) for name in TABLES}


@cache
def whole():
    """A study that nothing stopped; looked at only."""
    return carried_out()


@cache
def whole_tables():
    return tables(whole())


@cache
def all_kept():
    """What such a study keeps, by name."""
    shelf = Shelf()
    carried_out(shelf)
    return shelf.kept_texts


def test_fits_survive_a_file_to_the_last_digit():
    for fit in whole().fits.values():
        document = json.loads(json_text(fit.to_dict()))
        again = SubjectFit.from_dict(document)
        assert json_text(again.to_dict()) == json_text(fit.to_dict())
        np.testing.assert_array_equal(again.exact.theta, fit.exact.theta)
        assert again.exact.parameters == fit.exact.parameters


@pytest.mark.parametrize("stop", range(9))
def test_a_study_stopped_after_any_part_goes_on_to_the_same_tables(stop):
    shelf = Shelf(stop)
    if stop < 9 // 2 + 1 + len(whole().groups):
        with pytest.raises(KeyboardInterrupt):
            carried_out(shelf)
        assert len(shelf.kept_texts) == stop
    shelf.stop = None
    assert tables(carried_out(shelf)) == whole_tables()


def test_what_is_kept_is_not_fitted_again(monkeypatch):
    shelf = Shelf()
    shelf.kept_texts = dict(all_kept())

    def never(*_, **__):
        raise AssertionError("fitted again")

    monkeypatch.setattr(fitting, "fit_each_model", never)
    monkeypatch.setattr(fitting, "fit_linearized", never)
    carried_out(shelf)


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        ("{}", "The file is damaged: remove it, and resume."),
        (
            '{"subjects": ["x", "y"], "fits": []}',
            "It was made by another version of Penchant: remo",
        ),
        ("[]", "The file is damaged"),
        ("7", "The file is damaged"),
    ],
)
def test_a_damaged_part_is_named(damage, why):
    shelf = Shelf()
    shelf.kept_texts = {**all_kept(), "part-0002": damage}
    message = f"part-0002 must hold the fits of its 2 subjects; got something else.\n{why}"
    with pytest.raises(DataError, match=re.escape(message)):
        carried_out(shelf)


def test_the_fingerprint_tells_data_landscapes_and_settings_apart():
    def of(frame=None, known=MEANS, plan=PLAN):
        read = data(frame)
        return fingerprint(read, landscapes_of(read, 12, MODEL.locations, known), plan)

    frame = table()
    frame.loc[0, "reward"] += 1e-9
    assert describe_changes(of(), of()) == []
    assert describe_changes(of(), of(frame)) == ["other data"]
    assert describe_changes(of(), of(known=MEANS | {"A": MEANS["A"] + 1})) == ["other landscapes"]
    plan = Plan(MODEL, NOMINALS, n_replicates=2, n_bootstrap=5, intervals="wald", seed=4)
    assert describe_changes(of(), of(plan=plan)) == ["seed 4, was 3"]
