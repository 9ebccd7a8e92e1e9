"""A page: escaped, with headings, table headers and figures that say what they are."""

from html.parser import HTMLParser

import pytest

from penchant.report.page import DataTable, Drawing, Listing, Paragraph, Section, render_page

EVIL = '<script>alert("x")</script>'


class Reader(HTMLParser):
    """Every element with its attributes, and which are left open."""

    VOID = frozenset(("meta", "link", "br", "path", "use", "rect", "img"))

    def __init__(self):
        super().__init__()
        self.found, self.open, self.wrong = [], [], []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if self.open and self.open[-1] == tag:
            self.open.pop()
        else:
            self.wrong.append(tag)


def read(text):
    reader = Reader()
    reader.feed(text)
    return reader


def made():
    svg = '<svg role="img" aria-labelledby="t"><title id="t">Curve</title><path d="M0 0"/></svg>'
    blocks = [
        Paragraph("Some words."),
        Paragraph("penchant study FILE", code=True),
        Listing(["one", "two"]),
        DataTable("Numbers", ("who", "n"), [("ann", "3"), ("bob", "4")], "A note."),
        DataTable("More", ("who", "n"), [("ann", "3")], collapsed=True),
        Drawing("curve", "Curve", "It rises.", svg),
    ]
    return render_page("Title", "Subtitle", [Section("First part", blocks), Section("Second", [])])


def test_elements_are_closed_in_order():
    reader = read(made())
    assert reader.wrong == []
    assert reader.open == []


def test_there_is_one_title_and_a_heading_for_every_section():
    tags = [tag for tag, _ in read(made()).found]
    assert tags.count("h1") == 1
    assert tags.count("h2") == 2
    assert {"main", "nav", "header"} <= set(tags)


def test_links_lead_to_sections():
    found = read(made()).found
    ids = {attributes["id"] for _, attributes in found if "id" in attributes}
    links = [attributes["href"] for tag, attributes in found if tag == "a"]
    assert links == ["#first-part", "#second"]
    assert {link[1:] for link in links} <= ids


def test_tables_have_captions_and_headers_of_columns_and_rows():
    found = read(made()).found
    scopes = [attributes.get("scope") for tag, attributes in found if tag == "th"]
    assert scopes == ["col", "col", "row", "row", "col", "col", "row"]
    assert sum(tag == "caption" for tag, _ in found) == 2
    assert sum(tag == "details" for tag, _ in found) == 1


def test_the_page_needs_nothing_from_elsewhere_and_runs_no_script():
    text = made()
    found = read(text).found
    assert not [tag for tag, _ in found if tag == "script"]
    sources = [v for _, a in found for k, v in a.items() if k in ("src", "href") and v]
    assert all(value.startswith(("#", "data:")) for value in sources)
    assert "default-src 'none'" in text
    assert "width=device-width" in text
    assert "@media print" in text


@pytest.mark.parametrize(
    "section",
    [
        Section(EVIL, []),
        Section("x", [Paragraph(EVIL), Paragraph(EVIL, code=True), Listing([EVIL])]),
        Section("x", [DataTable(EVIL, (EVIL, EVIL), [(EVIL, EVIL)], EVIL)]),
        Section("x", [DataTable(EVIL, (EVIL, EVIL), [(EVIL, EVIL)], EVIL, collapsed=True)]),
        Section("x", [Drawing(EVIL, EVIL, EVIL, "<svg></svg>")]),
    ],
)
def test_labels_are_text_whatever_they_hold(section):
    text = render_page(EVIL, EVIL, [section])
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_the_same_page_has_the_same_bytes():
    assert made() == made()


def test_a_table_of_sentences_is_set_as_paragraphs_on_a_narrow_page():
    long = "an estimate, but the data hardly limit some direction: read the interval"
    sentences = DataTable("Status", ("status", "fits", "for example"), [["weak", "3", long]],
                     text_columns=frozenset((0, 2)))  # fmt: skip
    numbers = DataTable("Numbers", ("who", "a", "b"), [["x", "1", "2"]])
    assert sentences.has_sentences and not numbers.has_sentences
    text = render_page("t", "", [Section("s", [sentences, numbers])])
    assert text.count('class="scroll sentences"') == 1
    assert 'data-name="for example"' in text and 'data-name="a"' not in text
