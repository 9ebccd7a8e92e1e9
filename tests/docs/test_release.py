"""What a release says of itself agrees: version, changes, citation, extras, where it runs."""

import os
import re
import tomllib
from pathlib import Path

import penchant

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_written_once():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/penchant/_version.py"


def test_the_citation_and_the_newest_changes_are_of_this_version():
    (cited,) = re.findall(r"^version: (\S+)$", text("CITATION.cff"), re.MULTILINE)
    newest = re.findall(r"^## (\d\S*)(?: - (\S+))?$", text("CHANGELOG.md"), re.MULTILINE)[0]
    (date,) = re.findall(r'^date-released: "(\S+)"$', text("CITATION.cff"), re.MULTILINE)
    assert cited == newest[0] == penchant.__version__
    assert date == newest[1]


def test_every_extra_is_told_on_the_page_of_installation():
    told = set(re.findall(r"^\| `(\w+)` \|", text("docs/install.md"), re.MULTILINE))
    assert told == set(PROJECT["project"]["optional-dependencies"])


def test_hosted_checks_run_where_the_page_of_support_says():
    workflow = text(".github/workflows/tests.yml")
    assert f"python: [{', '.join(f'{chr(34)}{one}{chr(34)}' for one in PYTHONS)}]" in workflow
    assert "os: [ubuntu-latest, macos-latest, windows-latest]" in workflow
    assert "Python 3.11 to 3.14, Linux, macOS and Windows" in text("docs/support.md")
    classified = [line.split(" :: ")[-1] for line in PROJECT["project"]["classifiers"]]
    assert [line for line in classified if line.startswith("3.")] == PYTHONS


def test_a_release_is_uploaded_without_a_password_after_it_was_tried():
    workflow = text(".github/workflows/release.yml")
    assert "id-token: write" in workflow and "pypa/gh-action-pypi-publish" in workflow
    assert "secrets." not in workflow and "password" not in workflow.split("jobs:")[1]
    assert "run: .ci/package dist" in workflow and "needs: build" in workflow


def test_scripts_of_checks_can_be_run():
    assert all(os.access(ROOT / ".ci" / name, os.X_OK) for name in ("run", "package"))
