"""Study files: what they mean, and each mistake in one sentence with its line."""

import json

import pytest

pytest.importorskip("sqlalchemy", reason="penchant[task] is not installed")

from penchant.errors import DataError
from penchant.task.study_file_sections import key_line_numbers
from penchant.task.study_plan import (
    DEMONSTRATION_STUDY,
    new_study_text,
    parse_plan,
    read_study_file,
    read_study_text,
)

BLOCK = '\n[[block]]\ntask = "grid"\n'


def test_the_study_without_a_file_is_the_papers_task():
    plan = read_study_text(DEMONSTRATION_STUDY)
    assert [cell.labels for cell in plan.cells] == [{"landscape": "a"}, {"landscape": "b"}]
    (block,) = plan.cells[0].blocks
    assert (block.task.n_decisions, block.task.n_options(0), block.seconds) == (90, 100, None)
    assert block.task.noise.variance == 10.0


def test_a_new_study_file_passes_its_own_check():
    plan = read_study_text(new_study_text())
    assert plan.consent and plan.questions and len(plan.cells) == 2
    assert [block.practice for block in plan.cells[0].blocks] == [True, False]


def test_a_study_read_from_its_document_is_the_same():
    plan = read_study_text(new_study_text())
    again = parse_plan(json.loads(json.dumps(plan.document)))
    assert again.version == plan.version and again.cells == plan.cells


def test_a_condition_changes_the_blocks_that_leave_it_open_and_no_practice():
    text = (
        '[conditions]\nseconds = [1.5, 6]\n[[block]]\ntask = "grid"\npractice = true\n'
        '[[block]]\ntask = "grid"\n[[block]]\ntask = "grid"\nseconds = 9'
    )
    pace = [[block.seconds for block in cell.blocks] for cell in read_study_text(text).cells]
    assert pace == [[None, 1.5, 9.0], [None, 6.0, 9.0]]


def test_tables_beside_the_file_are_read_into_it(tmp_path):
    (tmp_path / "hill.csv").write_text("option,mean_reward\n0,1.5\n1,2.5\n2,4\n3,0\n")
    (tmp_path / "delays.csv").write_text(
        "amount_1,amount_2,delay_1,delay_2\n20,50,0,30\n9,10,0,7\n"
    )
    (tmp_path / "s.toml").write_text(
        '[[block]]\ntask = "grid"\nwidth = 2\nheight = 2\nmeans_file = "hill.csv"\n'
        '[[block]]\ntask = "offers"\noffers_file = "delays.csv"'
    )
    grid, offers = read_study_file(tmp_path / "s.toml").cells[0].blocks
    assert grid.task.means == (1.5, 2.5, 4.0, 0.0) and grid.task.landscape == "hill"
    assert offers.task.offers[1] == ((9.0, 10.0), (0.0, 7.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[study]\nname = "A b"' + BLOCK, "study.name must be .*; got 'A b' at line 2"),
        ("[study]\nseed = 1.5" + BLOCK, r"study.seed must be a whole number .*1\.5 at line 2"),
        ('[[block]]\ntask = "gird"', "block 1: task .*'gird' at line 2.\nDid you mean 'grid'"),
        (
            BLOCK + "widht = 3",
            "block 1 must have known keys; got 'widht' at line 4.\nDid you mean 'width'?",
        ),
        (BLOCK + "decisions = 0", "block 1: decisions must be .* got 0 at line 4"),
        (BLOCK + "decisions = true", "decisions must be a whole number .* got true at line 4"),
        (BLOCK + BLOCK + "means = [1]", "block 2: means must be a list of 100 .* at line 7"),
        (BLOCK + "landscape = 'c'", "landscape must be a, b, or a name .* got 'c' at line 4"),
        ("[study\n" + BLOCK, r"the study file must be TOML; got .* at line 1\.\nCorrect"),
        ("[study]\nx =", r"must be TOML; got .* at line 2"),
        ("", "block must hold a block or more"),
        ("[conditions]\nlandscape = ['a']" + BLOCK, "conditions.landscape must be .* at line 2"),
        ("[conditions]\nlandscape = ['a', 'c']" + BLOCK, "landscape must .* got 'c' at line 2"),
        ("[conditions]\nstep_sd = [1, 2]" + BLOCK, "step_sd must be a setting that a block has"),
        ("[end.completed]\naddress = 'javascript:x'" + BLOCK, "address must begin with https://"),
        ("[end.completed]\naddress = 'http://a.b/'" + BLOCK, "address must begin .* at line 2"),
        ("[end.completed]\naddress = 'https://u@a.b/'" + BLOCK, "address must begin .* at line 2"),
        ("[consent]\ntext = ''" + BLOCK, "consent.text must be a text of 1 to 20000"),
        ("[instructions]\npages = []" + BLOCK, "instructions.pages must be a list of texts"),
        ("[[block]]\ntask='bandit'\nmeans=[1]", "means must be a list of 2 to 10 .* at line 3"),
        ("[[block]]\ntask='bandit'\nmeans=[1,2]\nnoise='bernoulli'", "means must lie in 0..1"),
        (
            "[[block]]\ntask='bandit'\nmeans=[1,2]\nrewards='reversal'\nreversals=[40,20]",
            "reversals must be rising whole numbers .* at line 5",
        ),
        ("[[block]]\ntask='offers'", "block 1: offer must hold an offer or more"),
        (
            "[[block]]\ntask='offers'\n[[block.offer]]\namount=[1,2]\nprobability=[1,1.5]",
            r"probability must lie in 0\.\.1",
        ),
        (BLOCK + "means_file = '../x.csv'", "means_file must lie beside the study file"),
        ("[study]\nid_parameter = 'a b'" + BLOCK, "id_parameter must be letters"),
        ("[[check.question]]\nquestion='q'\nanswers=['a','b']\ncorrect=3" + BLOCK, "correct must"),
    ],
)
def test_every_mistake_is_one_sentence_with_its_line_and_a_remedy(text, said):
    with pytest.raises(DataError, match=said) as caught:
        read_study_text(text)
    assert "\n" not in caught.value.sentence and caught.value.fix


def test_lines_are_found_behind_texts_and_lists_of_many_lines():
    text = 'a = """\nb = 1\n[c]\n"""\n[d]\nlist = [\n  1, # [\n  2,\n]\ne = "#"'
    text += "\n[[f]]\ng = 1\n[[f]]\ng = 2"
    lines = key_line_numbers(text)
    assert lines[("d",)] == 5 and lines[("d", "list")] == 6 and lines[("d", "e")] == 10
    assert (lines[("f", 0, "g")], lines[("f", 1, "g")]) == (12, 14)
    assert ("b",) not in lines and ("c",) not in lines


def test_a_file_that_cannot_be_read_is_said(tmp_path):
    with pytest.raises(DataError, match=r"STUDY\.toml must be a file that can be read"):
        read_study_file(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'[study]\ntitle = "\xe9"')
    with pytest.raises(DataError, match="must be UTF-8; got another encoding at line 2"):
        read_study_file(tmp_path / "latin.toml")
