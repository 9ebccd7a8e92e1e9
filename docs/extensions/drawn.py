"""A directive that runs a few lines and shows the figure they draw below them.

    ```{drawn} What the figure shows
    >>> axes = pn.figures.choice_probability(pn.figures.figure().subplots())
    ```

The lines of a page share their names, and what they should print is checked, as in a doctest.
"""

import doctest
import io
import unittest.mock
from pathlib import Path

import penchant
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class Drawn(SphinxDirective):
    """Code, and the figure that was made last in it."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Run the lines, save the figure, show both."""
        text = "\n".join(self.content)
        names = self.env.temp_data.setdefault("drawn_names", {"__name__": "__main__"})
        figure = self._figure(text, names)
        number = self.env.temp_data["drawn_number"] = self.env.temp_data.get("drawn_number", 0) + 1
        name = f"{self.env.docname.replace('/', '-')}-{number}.svg"
        folder = Path(self.env.app.outdir) / "_images"
        folder.mkdir(parents=True, exist_ok=True)
        words = self.arguments[0].replace("\n", " ")
        penchant.figures.save(figure, folder / name, title=words, overwrite=True)
        up = "../" * self.env.docname.count("/")
        width = round(figure.get_figwidth() * 1.35, 2)
        image = f'<img src="{up}_images/{name}" alt="{words}" style="width: {width}in">'
        shown = nodes.raw("", f'<figure class="drawn">{image}</figure>', format="html")
        return [nodes.literal_block(text, text, language="pycon"), shown]

    def _figure(self, text, names):
        made, begin = [], penchant.figures.figure

        def watched(*args, **keywords):
            made.append(begin(*args, **keywords))
            return made[-1]

        test = doctest.DocTestParser().get_doctest(text, names, self.env.docname, None, self.lineno)
        said = io.StringIO()
        with unittest.mock.patch.object(penchant.figures, "figure", watched):
            runner = doctest.DocTestRunner(optionflags=FLAGS)
            failed = runner.run(test, out=said.write, clear_globs=False).failed
        names.update(test.globs)
        if failed:
            raise self.error(said.getvalue())
        if not made and not hasattr(names.get("canvas"), "savefig"):
            raise self.error("The lines must draw a figure with pn.figures.figure; got none.")
        return made[-1] if made else names["canvas"]


def setup(app):
    """Offer the directive."""
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
