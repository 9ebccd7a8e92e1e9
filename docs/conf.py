"""Settings of the site: Sphinx, MyST and the PyData theme over the pages of this folder."""

import sys
from pathlib import Path

import penchant

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "extensions")]

project = "Penchant"
author = "the authors of Penchant"
copyright = author
version = release = penchant.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_design",
    "cyclopts.ext.sphinx",
    "beyond_docs",
    "drawn",
    "mathml",
    "public_names",
]
root_doc = "index"
exclude_patterns = ["static", "**.py"]
default_role = "code"
highlight_language = "python"
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

# Pages: Markdown as GitHub shows it, with equations between dollars and names for headings.
myst_enable_extensions = ["attrs_inline", "colon_fence", "dollarmath"]
myst_url_schemes = ["http", "https", "mailto", "source"]
myst_heading_anchors = 4
myst_dmath_double_inline = False
myst_dmath_allow_digits = False
nb_execution_mode = "off"  # notebooks are executed by tests/docs, and kept with what they print

# The reference: from docstrings, with types from the annotations.
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_typehints_description_target = "documented"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = False
napoleon_preprocess_types = False
viewcode_line_numbers = True

html_theme = "pydata_sphinx_theme"
html_title = f"Penchant {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/mark.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "logo": {"image_light": "static/mark.svg", "image_dark": "static/mark.svg", "text": "Penchant"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navigation_depth": 2,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_center": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "models": []}
copybutton_prompt_text = "$ "
copybutton_selector = "div:not(.highlight-output) > div.highlight > pre"
