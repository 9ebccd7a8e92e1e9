"""The report of a study: its numbers are the library's, its files are whole."""

import html
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from markupsafe import escape

import penchant as pn
from penchant.errors import DataError
from penchant.report.page import DataTable
from penchant.report.study_figures import study_figures
from penchant.report.study_page import study_page
from penchant.report.study_population import population_figures, population_section
from penchant.report.study_sentences import format_report_cell, summary_sentences
from penchant.result_tables import format_number, format_p_value
from penchant.studies.findings import TABLES
from peopled import q_learners
from small_study import MEANS, study, table


@pytest.fixture(scope="module")
def found():
    frame = table(n_a=9, n_b=8)
    frame.loc[frame.subject == "a05", ["choice", "reward"]] = [7, 15.0]
    return study(frame)


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory):
    place = tmp_path_factory.mktemp("report") / "results"
    options = {"title": "Two landscapes", "command": "penchant study FILE -o X"}
    found.write(place, figures="svg", **options)
    return place


@pytest.fixture(scope="module")
def text(folder):
    return (folder / "report.html").read_text()


def words_of(text):
    """A page as it is read, without its tags."""
    return html.unescape(re.sub(r"<[^>]+>", "", text))


def cells(text, caption):
    """Rows of the table with this caption, by the text of their cells."""
    start = text.index(f"<caption><span>{escape(caption)}")
    body = text[start : text.index("</table>", start)]
    rows = re.findall(r"<tr>(.*?)</tr>", body, flags=re.DOTALL)
    made = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL) for row in rows]
    return [[html.unescape(cell) for cell in row] for row in made]


def test_every_table_is_written_twice_and_reads_back_as_it_was(found, folder):
    for name in TABLES:
        columns = found.columns(name)
        if not columns:  # such as tests within subjects, who were in one condition each
            assert not (folder / "tables" / f"{name}.csv").exists()
            continue
        back = pq.read_table(folder / "tables" / f"{name}.parquet").to_pydict()
        assert list(back) == list(columns)
        for key, values in columns.items():
            for one, other in zip(values, back[key], strict=True):
                assert one == other or (one != one and other != other)
        from_csv = pd.read_csv(folder / "tables" / f"{name}.csv")
        assert list(from_csv) == list(columns)
        assert len(from_csv) == len(next(iter(columns.values())))


def test_every_figure_is_a_file_and_stands_in_the_report(folder, text):
    drawn = {path.stem for path in (folder / "figures").iterdir()}
    assert {"subjects", "groups", "regret-growth", "forward-regret", "choices"} <= drawn
    assert text.count('role="img"') == len(drawn)
    for path in (folder / "figures").glob("*.svg"):
        assert path.read_text().split("?>\n", 1)[1].strip() in text


def test_every_figure_has_a_title_for_screen_readers(text):
    wide = re.findall(r'<div class="whole">(.*?)</div>', text, flags=re.DOTALL)
    assert len(wide) >= 6
    for svg in wide:
        assert 'role="img"' in svg
        assert re.search(r"<title[^>]*>[^<]{4,}</title>", svg)
        assert re.search(r"<desc[^>]*>[^<]{20,}</desc>", svg)


def test_estimates_of_subjects_are_those_of_the_fits(found, text):
    rows = cells(text, "Maximum-likelihood estimates of all subjects")
    assert len(rows) == 1 + len(found.subjects)
    header = rows[0]
    for row in rows[1:]:
        fit = found.fits[row[0]].exact
        assert row[header.index("status")] == fit.status
        for p in fit.parameters:
            place = header.index(p.name.replace("_", " "))
            assert row[place : place + 3] == [
                format_report_cell(v) for v in (p.estimate, p.low, p.high)
            ]


def test_groups_are_those_of_the_pooled_estimates(found, text):
    rows = iter(cells(text, "Random effects, by group")[1:])
    for group in found.groups:
        population = found.exact[group.label]["random-effects"]
        for p in population.parameters_at(0.95):
            row = next(rows)
            value = np.exp(p.estimate) if p.name.startswith("log ") else p.estimate
            assert row[:2] == [group.performance, group.condition]
            assert row[4] == format_number(float(value), 4)


def test_table_1_is_that_of_the_paper_with_its_validity(found, text):
    for performance, words in (("low", "linear, power law"), ("high", "logarithmic")):
        rows = cells(text, f"Table I: theta, {performance} performance ({words})")
        columns = [c for c in found.linearized if c.group.performance == performance]
        assert [row[0] for row in rows[1:3]] == ["subjects", "mean log-likelihood"]
        assert [row[0] for row in rows[3:6]] == ["theta1", "theta2", "theta3"]
        for j, column in enumerate(columns):
            assert rows[2][1 + 2 * j] == format_report_cell(column.mean_log_likelihood)
            for a in range(3):
                pair = column.theta.estimate[a], column.theta.standard_errors[a]
                assert rows[3 + a][1 + 2 * j : 3 + 2 * j] == [format_number(v, 4) for v in pair]
            assert rows[6][1 + 2 * j].startswith(format_number(column.ratio, 4))
            assert ("not small" in rows[6][1 + 2 * j]) is not column.valid


def test_table_2_maps_the_average_back_beside_the_exact_estimate(found, text):
    rows = cells(text, "Table II: model parameters, high performance (logarithmic)")
    columns = [c for c in found.linearized if c.group.performance == "high"]
    for j, column in enumerate(columns):
        for a in range(3):
            assert rows[1 + a][1 + 4 * j] == format_number(column.natural.estimate[a], 4)


def test_tests_are_those_of_the_comparison(found, text):
    rows = cells(text, "Maximum-likelihood estimates: Welch's tests")[1:]
    assert len(rows) == len(found.exact_tests.differences)
    for row, d in zip(rows, found.exact_tests.differences, strict=True):
        assert row[:2] == [d.first, d.second]
        assert row[3] == format_number(d.difference, 4)
        assert row[8:10] == [format_p_value(d.p_value), format_p_value(d.adjusted_p_value)]


def test_the_groups_that_are_named_are_compared_before_all_else(found, text):
    assert text.index(">Do the groups differ?</h2>") < text.index(">The data</h2>")
    rows = cells(text, "landscape: every pair of groups, parameter by parameter")
    tests = cells(text, "landscape: effect sizes and tests")
    assert len(rows) - 1 == len(found.group_tests.differences) == 3
    for row, more, d in zip(rows[1:], tests[1:], found.group_tests.differences, strict=True):
        read = dict(zip(rows[0], row, strict=True)) | dict(zip(tests[0], more, strict=True))
        assert (read["first"], read["second"]) == (d.first, d.second) == ("A", "B")
        assert read["n"] == f"{d.first_n}, {d.second_n}"
        assert read["ranked"] == f"{d.first_ranked}, {d.second_ranked}"
        is_ratio = d.name.startswith("log ")
        assert read["compared as"] == ("ratio" if is_ratio else "difference")
        assert read["value"] == format_number(d.ratio if is_ratio else d.difference, 4)
        assert read["Hedges' g"] == format_number(d.hedges_g, 3)
        assert (read["p"], read["rank p"]) == (
            format_p_value(d.p_value),
            format_p_value(d.rank_p_value),
        )
        assert read["adjusted p"] == format_p_value(d.adjusted_p_value)


def test_who_is_left_out_stands_in_the_report_with_what_keeps_them(found, text):
    rows = cells(text, "Subjects left out of tests of means")[1:]
    assert [row[1:4] for row in rows] == [
        [r.group, str(r.n_subjects), str(r.n_left_out)] for r in found.left_out
    ]
    assert sum(r.n_left_out for r in found.left_out) >= 1
    assert "penchant study FILE -o X --prior weak" in words_of(text)


def test_failures_are_listed_with_why(found, text):
    rows = cells(text, "What went wrong, and for whom")[1:]
    failed = found.columns("failures")
    assert sum(int(row[2]) for row in rows) == len(failed["subject"])
    assert any("a05" in row[3] for row in rows)


def test_people_and_agents_stand_side_by_side(found, text):
    rows = cells(text, "People and agents")[1:]
    assert [row[0] for row in rows] == [group.label for group in found.groups]
    for row, group in zip(rows, found.groups, strict=True):
        mine = [s for s in group.subjects if found.fits[s].simulated is not None]
        people = np.mean([found.observed[s].regret[-1] for s in mine])
        agents = np.mean([found.fits[s].simulated.regret[-1] for s in mine])
        assert row[1:4] == [str(len(mine)), format_number(people, 4), format_number(agents, 4)]


def test_groups_say_how_many_subjects_their_estimate_is_of(found):
    (drawn,) = [one for one in study_figures(found) if one.name == "groups"]
    said = [text.get_text().split("\n")[1] for text in drawn.figure.axes[0].get_xticklabels()]
    for words, group in zip(said, found.groups, strict=True):
        n = found.exact[group.label]["random-effects"].n_subjects
        whole = len(group.subjects)
        assert words == (f"(n = {n})" if n == whole else f"(n = {n} of {whole})")
    assert any(" of " in words for words in said)  # a05 has no estimate


def captions(made):
    return {one.name: one.caption for one in study_figures(made)}


def with_parameter(made, subject, place, **changes):
    """The study with another estimate or interval of a parameter of a subject."""
    fit = made.fits[subject]
    parameters = list(fit.exact.parameters)
    parameters[place] = replace(parameters[place], **changes)
    source = replace(fit.exact.source, stored_parameters=tuple(parameters))
    exact = replace(fit.exact, source=source)
    return replace(made, fits={**made.fits, subject: replace(fit, exact=exact)})


def test_an_interval_down_to_0_is_drawn_to_the_edge_and_nobody_is_dropped(found):
    made = with_parameter(found, "a00", 0, low=0.0)
    made = with_parameter(made, "a01", 0, low=0.2, high=np.inf)
    nan = float("nan")
    made = with_parameter(made, "a02", 0, estimate=nan, standard_error=nan, low=0.5, high=np.inf)
    (drawn,) = [one for one in study_figures(made) if one.name == "subjects"]
    axes = drawn.figure.axes[0]
    rows = {
        text.get_text(): y
        for y, text in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    }
    lines = {s[0, 1]: s[:, 0].tolist() for c in axes.collections for s in c.get_segments()}
    left, right = axes.get_xlim()
    assert axes.get_xscale() == "log"
    assert lines[rows["a00"]][0] == left
    assert lines[rows["a01"]][1] == lines[rows["a02"]][1] == right
    known = [s for s in made.subjects if not np.isnan([made.fits[s].exact.parameters[0].low]).any()]
    assert set(lines) == {rows[s] for s in known}
    assert "interval to 0 or without a bound" in axes.get_title(loc="right")
    assert "Without a finite estimate of some parameter: " in drawn.caption
    assert "a02" in drawn.caption and "an open arrow one that ends beyond" in drawn.caption


def test_captions_say_what_agents_were_paid_by_and_who_is_left_out(found):
    said = captions(found)["forward-regret"]
    assert "in the reward environment of each block, whose mean rewards are known" in said
    assert "Left out, without a finite estimate: 1 subject (a05)." in said
    assert "the same tasks" not in said


def test_where_the_task_is_not_known_captions_words_and_tables_say_one_step_ahead():
    made = study(table(n_a=2, n_b=2), landscape=None, n_bootstrap=0)
    drawn = captions(made)
    assert "forward-regret" not in drawn and "forward-reward" not in drawn
    for name in ("forward-likeliest", "forward-distance"):
        assert "after the subject's own choices and rewards before it" in drawn[name]
    page = study_page(made, [], title="x", command="y")
    assert "Prediction one step ahead: " in page and "does not" not in drawn[name]
    assert cells(page, "People, and predictions one step ahead")[1:]
    assert "not simulated" not in page
    assert set(made.columns("forward")["how"]) == {"one step ahead"}


def test_captions_name_the_columns_that_paid_agents():
    frame = table(n_a=3, n_b=2)
    for i in range(12):
        frame[f"mean_{i}"] = [MEANS[place][i] for place in frame.landscape]
    made = study(frame, landscape=None, n_bootstrap=0)
    said = captions(made)["forward-reward"]
    assert "the mean in the columns mean_0, mean_1," in said
    assert "at that decision of that subject" in said
    assert set(made.columns("forward")["how"]) == {"payoffs"}


def test_the_report_says_what_was_asked_how_and_by_which_command(text):
    for words in (
        "Questions",
        "penchant study FILE -o X",
        "stochastic UCL, 12 options, noise variance 2.5, length scale 1.5",
        "Regret is measured in mean rewards that are known (2 landscapes)",
        "low: prior mean 8, prior variance 20, length scale 1",
        "seed 7",
        "Holm",
    ):
        assert words in words_of(text), words


@pytest.mark.slow
def test_the_same_study_gives_the_same_bytes(found, folder, tmp_path):
    options = {"title": "Two landscapes", "command": "penchant study FILE -o X"}
    for name in ("one", "two"):
        found.write(tmp_path / name, **options)
    for path in sorted((tmp_path / "one").rglob("*.*")):
        again = tmp_path / "two" / path.relative_to(tmp_path / "one")
        assert path.read_bytes() == again.read_bytes(), path
    drawn = {path.stem for path in (tmp_path / "one" / "figures").glob("*.pdf")}
    assert drawn == {path.stem for path in (folder / "figures").glob("*.svg")}


def test_a_report_is_not_overwritten(found, folder):
    with pytest.raises(DataError, match="folder must not hold a report; got"):
        found.write(folder)


def test_labels_of_subjects_are_text_whatever_they_hold():
    frame = table(n_a=2, n_b=2)
    frame["subject"] = frame.subject.replace({"a00": "<img src=x onerror=alert(1)>"})
    made = study(frame, n_bootstrap=0)
    assert "<img" not in study_page(made, [], title="x", command="y")


def test_without_figures_the_report_is_the_text(found, tmp_path):
    found.write(tmp_path / "out", figures="none")
    assert not (tmp_path / "out" / "figures").exists()
    assert "<svg" not in (tmp_path / "out" / "report.html").read_text()
    with pytest.raises(DataError, match="figures must be 'both', 'svg' or 'none'; got 'png'"):
        found.write(tmp_path / "other", figures="png")


@pytest.mark.slow
def test_a_study_without_groups_tests_or_agents_has_a_report_all_the_same(tmp_path):
    frame = table(n_a=1, n_b=0, n_decisions=3)
    data = pn.read_study(frame)
    made = pn.study(data, pn.QLearning(12), n_replicates=0, n_bootstrap=0)
    made.write(tmp_path / "out", figures="svg")
    text = (tmp_path / "out" / "report.html").read_text()
    found = text.split('<h2 id="methods">')[0]
    for words in ("nothing to compare", "No agents", "None: ", "none, as", "egret"):
        assert words not in found
    assert "This call makes the same" in text


@pytest.fixture(scope="module")
def within():
    """Two phases of every player, without payoffs: one step ahead."""
    rng = np.random.default_rng(11)
    rows = []
    for k, rate in enumerate([0.2, 0.3, 0.25, 0.35]):
        for phase, means in (("calm", (0.2, 0.8)), ("stormy", (0.7, 0.4))):
            world = pn.Landscape(np.array(means), pn.GaussianNoise(0.1))
            truth = {"temperature": 0.3, "learning_rate": rate}
            played = pn.simulate(world, pn.QLearning(2), truth, n_decisions=60, rng=rng)
            rows += [
                (f"s{k}", phase, t, int(c), float(r))
                for t, (c, r) in enumerate(zip(played.chosen, played.rewards, strict=True))
            ]
    frame = pd.DataFrame(rows, columns=["subject", "block", "trial", "choice", "reward"])
    frame["phase"] = frame.block
    made = pn.read_study(frame, conditions=["phase"])
    return pn.study(made, pn.QLearning(2), intervals="wald", threads=1)


def test_fits_of_the_same_subjects_are_not_counted_as_subjects(within):
    assert (within.data.n_people, len(within.subjects)) == (4, 8)
    ahead = next(one for one in summary_sentences(within) if one.startswith("Prediction"))
    assert "4 subjects (8 fits) choose the option" in ahead
    scatter = next(one for one in study_figures(within) if one.name == "scatter")
    said = "Maximum-likelihood estimates of 7 of 8 fits, by group."  # one at a limit
    assert scatter.caption.startswith(said)
    text = study_page(within, [], title="Phases", command="penchant study FILE -o X")
    assert cells(text, "Status of the maximum-likelihood fits")[0][1] == "fits"
    rows = cells(text, "Conditions within subjects: paired t tests")
    more = cells(text, "Conditions within subjects: effect sizes and rank tests")
    for row, tests, d in zip(rows[1:], more[1:], within.paired_tests, strict=True):
        read = dict(zip(rows[0], row, strict=True)) | dict(zip(more[0], tests, strict=True))
        assert read["pairs"] == f"{d.n_pairs} of {d.n_both}"
        assert (read["p"], read["adjusted p"]) == (
            format_p_value(d.p_value),
            format_p_value(d.adjusted_p_value),
        )
        assert read["Wilcoxon p"] == format_p_value(d.wilcoxon_p_value)
        assert read["95 % interval"].startswith(format_number(d.cohens_dz_low, 3))


def test_one_step_ahead_asks_whether_people_choose_as_their_model_expects(within, text):
    ahead = study_page(within, [], title="Phases", command="penchant study FILE -o X")
    assert "Do the subjects choose as their model expects?" in ahead
    assert "Posterior predictive check: do people choose as their model expects?</h2>" in ahead
    assert "behave like" not in ahead
    assert cells(ahead, "People, and predictions one step ahead")[0][4] == "switch rate: people"
    assert "Posterior predictive check: do agents behave like the people?</h2>" in text
    assert cells(text, "People and agents")[0][4] == "mean step: people"  # options have places


def test_means_of_two_kinds_are_explained_where_they_differ(found, text):
    assert "so that their means differ from these." in text
    weak = found.counts().get("weakly identified", 0)
    said = next(
        one for one in summary_sentences(found) if one.startswith("Maximum-likelihood fits")
    )
    assert ("Weakly identified estimates are kept in means" in said) is bool(weak)


def test_those_without_either_estimate_have_no_place_in_the_scatter(found):
    fits = [found.fits[s].exact for s in found.subjects]
    known = np.isfinite([[f.parameters[j].estimate for j in (0, 2)] for f in fits])
    neither = int((~known).all(axis=1).sum())
    caption = next(one for one in study_figures(found) if one.name == "scatter").caption
    assert (f"Not shown: {neither} subject" in caption) is bool(neither)
    assert ("At the edge: " in caption) is bool((known[:, 0] != known[:, 1]).any())


def test_one_subject_is_not_compared_averaged_or_banded():
    frame = table(n_a=1, n_b=0)[["subject", "trial", "choice", "reward"]]
    made = pn.study(pn.read_study(frame), pn.models.QLearning(12), n_replicates=2, seed=3)
    drawn = {one.name for one in study_figures(made)}
    assert {"subjects", "forward-likeliest"} <= drawn and not drawn & {"groups", "scatter"}
    assert "over subjects" not in captions(made)["forward-likeliest"]
    page = study_page(made, [], title="x", command="y")
    assert "Random effects" not in page and "pooled" not in page
    assert "left out" not in page and "landscapes</th>" not in page
    assert "kept in means" not in page and "Averages" not in page
    assert "Prediction one step ahead: 1 subject chooses the option" in page


def test_the_population_has_its_parameters_and_people_in_the_order_of_all_other_panels():
    _, episodes = q_learners(6, 80, np.random.default_rng(1))
    frame = pd.DataFrame(
        [
            {"subject": f"s{k}", "arm": "ab"[k % 2], "choice": int(c), "reward": float(r)}
            for k, episode in enumerate(episodes)
            for c, r in zip(episode.chosen, episode.rewards, strict=True)
        ]
    )
    model = pn.models.QLearning(2)
    data = pn.read_study(frame, conditions=["arm"])
    prior = pn.ScaledPrior()
    made = pn.study(data, model, population=True, parameter_prior=prior, n_replicates=0)
    drawn = {one.name: one.figure for one in [*study_figures(made), *population_figures(made)]}
    usual = [axes.get_xlabel() for axes in drawn["subjects"].axes]
    for name in ("population-density", "population-forest"):
        assert [axes.get_xlabel() for axes in drawn[name].axes] == usual
    rows = [
        [label.get_text() for label in axes.get_yticklabels()]
        for axes in drawn["population-forest"].axes
    ]
    assert rows[0] == rows[1]
    panels = drawn["population-coefficients"].axes
    said = [axes.get_xlabel().replace("\n", " ").partition(":")[0] for axes in panels]
    assert said == ["temperature", "learning rate"]
    assert [[label.get_text() for label in axes.get_yticklabels()] for axes in panels] == [
        ["b"]
    ] * 2
    assert panels[0].get_xlim() == panels[1].get_xlim()
    caption = next(one for one in population_figures(made) if "coeff" in one.name).caption
    assert "how far a group lies from a." in caption
    rows = cells(study_page(made, [], title="x", command="y"), "The typical person")[1:3]
    assert [row[0] for row in rows] == ["temperature", "learning rate"]
    text = study_page(made, [], title="x", command="y")
    assert "p = &lt;" not in text and "The typical person (" not in text

    class Several:
        """The same study, as if of many groups, in which no spread was found."""

        def __getattr__(self, name):
            return getattr(made, name)

        def columns(self, name):
            table = made.columns(name)
            return {} if name == "population-spreads" else {k: v * 13 for k, v in table.items()}

    blocks = population_section(Several(), {})
    tables = {one.caption: one.collapsed for one in blocks if isinstance(one, DataTable)}
    assert tables == {"Differences in the population": True, "The typical person": False}


def test_a_report_made_in_python_says_the_call_with_what_was_set(found):
    said = html.unescape(study_page(found, [], title="t", command=None))
    code = re.sub(r"<[^>]+>", "", re.findall(r"<pre><code>(.*?)</code></pre>", said)[-1])
    assert code.startswith("pn.study(data, model, ")
    assert "intervals='wald', n_replicates=3, n_bootstrap=20, seed=7" in code
    assert code.endswith(".write(folder)")
