"""A directive that runs a few lines and shows the figure they draw below them.

    ```{drawn} What the figure shows
    axes = pn.figures.choice_probability(pn.figures.figure().subplots())
    ```

The lines of a page share their names.
"""

from pathlib import Path

import penchant
from docutils import nodes
from page_examples import Example, ExampleError, check
from sphinx.util.docutils import SphinxDirective


class Drawn(SphinxDirective):
    """Code, and the figure that was made last in it."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Run the lines, save the figure, show both."""
        text = "\n".join(self.content)
        names = self.env.temp_data.setdefault("drawn_names", {"__name__": "__main__"})
        example = Example(self.lineno + 1, text, None, self.arguments[0])
        try:
            figure = check(example, names, self.env.docname)[-1]
        except ExampleError as error:
            raise self.error(str(error)) from error
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
        return [nodes.literal_block(text, text, language="python"), shown]


def setup(app):
    """Offer the directive."""
    app.add_directive("drawn", Drawn)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
