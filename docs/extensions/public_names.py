"""What of the library the reference describes, and links to it wherever a page names it."""

import inspect
import re
import sys
from types import ModuleType

import penchant
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

# Methods that the parts of the library call among themselves; how a model is written is told in
# docs/own-model.md.
INSIDE = frozenset(
    """
    agents bends check check_options denominator doubts ends explanatory_many feasible_point fill
    from_positions from_unconstrained gradient indifferent_at is_magnitude is_positive kept
    largest_deviation latent meaningful nominal_point of_checked of_events of_weights on
    on_shape on_weights parameters_within plane positions put quadratic refers satisfied
    single stretch to_unconstrained touched typical_weights values values_at weight_at with_natural within
    """.split()
)
PARTS = [name for name in penchant.__all__ if isinstance(getattr(penchant, name), ModuleType)]
QUOTED = re.compile(r"(`+[^`]+`+)(?=\w)")
NAMED = re.compile(r"(pn\.)?([A-Za-z_]\w*(?:\.\w+)*)(?:\(.*\))?", re.DOTALL)


def described():
    """The name under which the reference describes what `pn.NAME` calls, by NAME."""
    top = [name for name in penchant.__all__ if name not in PARTS]
    of_models = set(penchant.models.__all__)
    found = {name: f"penchant.{'models.' * (name in of_models)}{name}" for name in top}
    for part in PARTS:
        found[part] = f"penchant.{part}"
        found |= {f"{part}.{name}": f"penchant.{part}.{name}" for name in getattr(penchant, part).__all__}
    return found


def is_made_by_hand(value):
    """Whether users make such objects; results of functions they only read."""
    if issubclass(value, Exception):
        return False
    return "\nParameters\n---" in (inspect.getdoc(value) or "")


class LinkNames(SphinxTransform):
    """Lead `pn.fit` in a page, and `Estimate` in a docstring, to where they are described."""

    default_priority = 400

    def apply(self):
        """Wrap the code that is a public name into a reference to it."""
        names = described()
        for code in list(self.document.findall(nodes.literal)):
            match = NAMED.fullmatch(code.astext())
            within = isinstance(code.parent, nodes.reference | addnodes.pending_xref | nodes.title)
            if not match or within:
                continue
            prefix, name = match.groups()
            is_class = "." not in name and name[:1].isupper() and name != name.upper()
            if name in names and (prefix or is_class):
                link = addnodes.pending_xref(
                    "", refdomain="py", reftype="obj", reftarget=names[name], refexplicit=True
                )
                link["refdoc"] = self.env.docname
                code.replace_self(link)
                link += code


def _leave_out(app, what, name, found, skip, options):
    return True if what == "class" and (name in INSIDE or _is_listed(name, found)) else None


def _is_listed(name, found):
    """Whether a property stands among the attributes of its class's docstring already."""
    get = getattr(found, "fget", None) or getattr(found, "func", None)
    if get is None or "." not in get.__qualname__:
        return False
    owner = getattr(sys.modules[get.__module__], get.__qualname__.split(".")[0], None)
    listed = (inspect.getdoc(owner) or "").partition("\nAttributes\n---")[2]
    return re.search(rf"^(?:.*, )?{name}(?:,.*)?$", listed, re.MULTILINE) is not None


def _signature(app, what, name, value, options, signature, returned):
    """No arguments for what functions return: nobody makes these by hand."""
    is_class = what == "class" and inspect.isclass(value)
    return ("", "") if is_class and not is_made_by_hand(value) else None


def _plain(app, what, name, value, options, lines):
    """Docstrings are plain text to be read in a terminal: | and *, or _ after a word, are no markup."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[i] = re.sub(r"(?<!\\)[|*]|(?<=\w)_(?!\w)", r"\\\g<0>", QUOTED.sub(r"\1\\ ", line))


def setup(app):
    """Listen where autodoc asks, and after pages are read."""
    app.connect("autodoc-skip-member", _leave_out)
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-process-docstring", _plain, priority=400)
    app.add_transform(LinkNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
