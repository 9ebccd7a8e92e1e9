"""Links of the pages to files beyond `docs/`: what GitHub shows there, the site shows here.

Pages link to `../benchmarks/RESULTS.md` or `../src/penchant/softmax/newton.py#L10`, which lead
somewhere in a clone and on GitHub. On the site the former is a page, and the latter the source as
`sphinx.ext.viewcode` shows it.
"""

import re
from pathlib import Path

from docutils import nodes
from sphinx.pycode import ModuleAnalyzer
from sphinx.util import logging

LOG = logging.getLogger(__name__)
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
}
BACK = re.compile(
    r'(class="viewcode-back" href="[^"#]+)#(penchant(?:\.[a-z_]\w*)*)\.([A-Z]\w*(?:\.\w+)?|[a-z_]\w*)"'
)
INCLUDED = re.compile(r"```\{include\} ((?:\.\./)+[\w/]+\.md)\n```\n?")
PAGE = re.compile(r"\]\((?:\.\./)+(README|CHANGELOG|CONTRIBUTING)\.md(#[\w-]+)?\)")
MEASURED = re.compile(r"\]\((?:\.\./)*benchmarks/(\w+)\.md(#[\w-]+)?\)")
SOURCE = re.compile(r"\[`([\w.]+)`\]\(\.\./src/penchant/([\w/]+)\.py#L\d+\)")
SCRIPT = re.compile(r"\[([^\]]+)\]\((?:\.\./)*((?:docs|benchmarks|examples|src)/[\w./-]+\.\w+|[\w]+\.py)\)")


def _measured(app, config):
    """A page for every page of measurements: its name here, its text from there."""
    folder = Path(app.srcdir) / "measured"
    folder.mkdir(exist_ok=True)
    for page in (Path(app.srcdir).parent / "benchmarks").glob("*.md"):
        text = f"```{{include}} ../../benchmarks/{page.name}\n```\n"
        (folder / page.name.lower()).write_text(text, encoding="utf-8")


def _read(app, docname, source):
    """Lead links to where the site has what they name."""
    up = "../" * docname.count("/")
    here = Path(app.env.doc2path(docname)).parent
    text = INCLUDED.sub(lambda m: (here / m[1]).read_text(encoding="utf-8"), source[0])
    if docname.startswith("measured/"):
        text = re.sub(r"\]\(([A-Z]+\.md)", lambda m: f"]({m[1].lower()}", text)
        text = text.replace("](../docs/", "](../")
    if docname in ("changes", "contributing"):
        text = text.replace("](docs/", "](")
    text = PAGE.sub(lambda m: f"]({up}{PAGES[m[1] + '.md']}{m[2] or ''})", text)
    text = MEASURED.sub(lambda m: f"]({up}measured/{m[1].lower()}.md{m[2] or ''})", text)
    text = SOURCE.sub(lambda m: f"[`{m[1]}`](source:{m[2].replace('/', '.')}#{m[1]})", text)
    source[0] = SCRIPT.sub(r"`\2`", text)


def _show(app, doctree):
    """Have `viewcode` show the functions that a page links to."""
    docname = app.env.docname
    modules = app.env.__dict__.setdefault("_viewcode_modules", {})
    for link in doctree.findall(nodes.reference):
        uri = link.get("refuri", "")
        if not uri.startswith("source:"):
            continue
        module, _, name = uri.removeprefix("source:").partition("#")
        module = f"penchant.{module}"
        analyzer = ModuleAnalyzer.for_module(module)
        analyzer.find_tags()
        if name not in analyzer.tags:
            LOG.warning("%s defines no %s: lead the link elsewhere", module, name, location=link)
            continue
        if not modules.get(module):
            modules[module] = (analyzer.code, analyzer.tags, {}, module)
        modules[module][2].setdefault(name, docname)
        back = f"{modules[module][3]}.{name}"  # where the source links back to
        if back not in doctree.ids:
            link["ids"].append(back)
            doctree.ids[back] = link
        link["refuri"] = f"{'../' * docname.count('/')}_modules/{module.replace('.', '/')}.html#{name}"


def _lead_back(app, pagename, template, context, doctree):
    """Links from a source back to the reference, by the names that it has there.

    `viewcode` takes all objects of a module for described under one name of the module.
    """
    if pagename.startswith("_modules/"):
        context["body"] = BACK.sub(lambda m: f'{m[1]}#{_described(app, m[2], m[3])}"', context["body"])


def _described(app, module, name):
    objects = app.env.domaindata["py"]["objects"]
    for part in ("", "models.", "results.", "figures.", "paper.", "datasets."):
        if f"penchant.{part}{name}" in objects:
            return f"penchant.{part}{name}"
    return f"{module}.{name}"


def setup(app):
    """Change links as pages are read, and as sources are written."""
    app.connect("html-page-context", _lead_back)
    app.connect("config-inited", _measured)
    app.connect("source-read", _read)
    app.connect("doctree-read", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
