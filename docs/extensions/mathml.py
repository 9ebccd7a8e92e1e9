"""Equations as MathML, which browsers set by themselves: no script, no font, no other host."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def _inline(writer, node):
    writer.body.append(_set(node, inline=True))
    raise nodes.SkipNode


def _block(writer, node):
    writer.body.append(f'<div class="math">{_set(node, inline=False)}</div>\n')
    raise nodes.SkipNode


def _set(node, inline):
    """MathML of an equation; one that cannot be set stops the build with its own words."""
    return tex2mathml(node.astext(), as_block=not inline)


def setup(app):
    """Offer the renderer to Sphinx, and make it the one that is used."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
