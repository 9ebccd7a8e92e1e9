"""Make the pages of `docs/reference` from the docstrings: `python docs/make_reference.py`.

One page per part of the library, with every public name on one of them: how it is called, what it
is, its arguments, an example. A test holds the pages to what this script makes.
"""

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import penchant
from penchant import datasets, figures
from penchant.cli.main import app

FOLDER = Path(__file__).parent / "reference"

# Page: its title, the folders of the library whose names at the top it describes, and the part of
# the library (`pn.models`) whose names it describes.
PAGES = {
    "reading": ("Files as they are", ("reading",), None),
    "choices": ("Decisions given as explanatory variables", ("choices", "scale"), None),
    "play": ("Decisions given as a history of play", ("bandit",), None),
    "models": ("Models", ("models",), "models"),
    "fitting": ("Fitting: from data to an estimate", ("inference",), None),
    "estimates": ("Estimates, priors and constraints of a softmax", ("softmax",), None),
    "population": ("Many subjects", ("population",), None),
    "study": (
        "Studies: simulate, recover, compare, predict, report",
        ("workflow", "studies", "report"),
        None,
    ),
    "assistance": ("A machine beside its operator", ("assistance",), None),
    "results": ("What functions return", (), "results"),
    "figures": ("Figures", (), "figures"),
    "datasets": ("Data that come with Penchant", (), "datasets"),
    "paper": ("The paper's landscapes, examples and estimators", (), "paper"),
    "errors": ("Errors and warnings", ("errors",), None),
}

# Methods that the parts of the library call among themselves; how a model is written is told in
# docs/own-model.md.
INSIDE = frozenset(
    {
        "agents",
        "bends",
        "check",
        "check_options",
        "denominator",
        "doubts",
        "ends",
        "explanatory_many",
        "feasible_point",
        "fill",
        "from_positions",
        "from_search",
        "gradient",
        "holding",
        "indifferent_at",
        "is_magnitude",
        "is_positive",
        "kept",
        "largest_deviation",
        "latent",
        "meaningful",
        "nominal_point",
        "notes_on",
        "of_checked",
        "of_events",
        "of_weights",
        "on",
        "on_shape",
        "on_weights",
        "option_values",
        "parameters_within",
        "plane",
        "positions",
        "put",
        "quadratic",
        "refers",
        "satisfied",
        "single",
        "stretch",
        "to_search",
        "touched",
        "typical_weights",
        "values",
        "values_at",
        "weight_at",
        "with_natural",
        "within",
    }
)

MADE = "<!-- Made by docs/make_reference.py from the docstrings; change these, not this page. -->\n"


def pages() -> dict[str, str]:
    """Text of every page by the name of its file."""
    made = {f"{page}.md": _page(page) for page in PAGES}
    return {"README.md": _index(), "command-line.md": _commands(), **made}


def entries(page: str) -> dict[str, Any]:
    """What a page describes: everything public by the name it is called by."""
    _, folders, part = PAGES[page]
    top = {name: getattr(penchant, name) for name in penchant.__all__}
    found = {
        f"pn.{name}": value
        for name, value in top.items()
        if not isinstance(value, ModuleType) and value.__module__.split(".")[1] in folders
    }
    if part is not None:
        own = getattr(penchant, part)
        found |= {f"pn.{part}.{name}": getattr(own, name) for name in own.__all__ if name not in top}
    return found


def _index() -> str:
    lines = [MADE, "# Reference", "", "Everything public, with `import penchant as pn`."]
    lines += ["From a terminal: [commands and options](command-line.md).", ""]
    lines += [*_top(), ""]
    for page, (title, _, _) in PAGES.items():
        lines += [f"## [{title}]({page}.md)", "", "| name | what it is |", "|---|---|"]
        for name, value in entries(page).items():
            lines.append(f"| [`{name}`]({page}.md#{_anchor(name)}) | {_cell(_first_line(value))} |")
        lines.append("")
    return "\n".join(lines)


def _top() -> list[str]:
    """What one finds on typing `pn.`: names first, then the parts that hold the rest."""
    top = {name: getattr(penchant, name) for name in penchant.__all__}
    parts = [name for name, value in top.items() if isinstance(value, ModuleType)]
    pages = {name: page for page in PAGES for name in entries(page)}
    linked = [
        f"[`{name}`]({pages[f'pn.{name}']}.md#{_anchor(f'pn.{name}')})"
        for name in top
        if name not in parts
    ]
    lines = [f"At the top of `pn` stand {len(linked)} names:", "", " · ".join(linked), ""]
    lines += ["All others stand in its parts:", ""]
    for part in parts:
        lines.append(f"- [`pn.{part}`]({part}.md): {_first_line(top[part])}")
    return lines


def _commands() -> str:
    """Every option of every command, as its help says it."""
    lines = [MADE, "# Commands and options", ""]
    lines += ["The same as `penchant COMMAND --help`; [the command line](../command-line.md) is a"]
    lines += ["walk through it. [All names](README.md) of the library.", ""]
    for name in (command for command in app if not command.startswith("-")):
        told = (inspect.getdoc(app[name].default_command) or "").split("\nParameters\n---")[0]
        lines += [f"## penchant {name}", "", told.strip(), ""]
        groups: dict[str, list[str]] = {}
        for option in app[name].assemble_argument_collection(parse_docstring=True):
            if not option.children:
                groups.setdefault(_group(option), []).append(_option(option))
        for group, rows in groups.items():
            lines += [f"| {group} | |", "|---|---|", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


def _group(option: Any) -> str:
    (group,) = option.parameter.group
    return str(getattr(group, "name", group))


def _option(option: Any) -> str:
    """A row: the option as it is typed, what it does, what it may be and is."""
    added = ("--no-", "--empty-")  # cyclopts adds such names to those that a command declares
    names = [name for name in option.names if not name.startswith(added)] or [option.name]
    choices = option.get_choices(force=True) or ()
    takes = option.parameter.metavar or ("CHOICE" if choices else "")
    is_flag = option.hint is bool or not names[0].startswith("-")
    typed = ", ".join(names) + ("" if is_flag or not takes else f" {takes}")
    words = " ".join(option.parameter.help.split())
    if choices:
        words += f" One of {', '.join(choices)}."
    if option.show_default:
        words += f" Default: `{option.field_info.default}`."
    return f"| `{_cell(typed)}` | {_cell(words)} |"


def _page(page: str) -> str:
    title, _, _ = PAGES[page]
    parts = [MADE, f"# {title}", "", "[All names](README.md)", ""]
    for name, value in entries(page).items():
        parts += [f"## {name}", ""]
        if inspect.isclass(value):
            parts += _class(name, value)
        elif callable(value):
            parts += _call(name, value) + _docstring(value)
        else:
            parts += [f"`{value!r}`", ""]
    return "\n".join(parts).rstrip() + "\n"


def _class(name: str, value: type) -> list[str]:
    described = list(_members(value))
    attributes = [
        f"- `{member}`: {_first_line(found)}"
        for member, found in described
        if not inspect.isfunction(found)
    ]
    short, long = [], []
    for member, method in described:
        if not inspect.isfunction(method):
            continue
        call = f"{name.split('.')[-1]}.{member}"
        if "\n---" in inspect.getdoc(method):
            long += [f"### {call}", "", *_call(call, method), *_docstring(method)]
        else:
            words = inspect.getdoc(method).replace("\n\n", "\n").replace("\n", "\n  ")
            short.append(f"- `{member}({', '.join(_arguments(method))})`: {words}")
    lines = (_call(name, value) if is_made_by_hand(value) else []) + _docstring(value)
    lines += ["**Computed attributes**", "", *attributes, ""] if attributes else []
    lines += ["**Methods**", "", *short, ""] if short else []
    return lines + long


def is_made_by_hand(value: type) -> bool:
    """Whether users make such objects; results of functions they only read."""
    if issubclass(value, Exception):
        return False
    return "\nParameters\n---" in (inspect.getdoc(value) or "") or not _arguments(value)


def _own_and_shared(value: type) -> dict[str, object]:
    """What a class has, with what it inherits from classes of the project."""
    found: dict[str, object] = {}
    for part in reversed(value.__mro__):
        if part is value:
            found.update(vars(part))
    return found


def _members(value: type) -> Iterator[tuple[str, Any]]:
    """Methods, and properties, that a class itself defines for its users, in their order."""
    for member, raw in _own_and_shared(value).items():
        found = raw.__func__ if isinstance(raw, classmethod | staticmethod) else raw
        is_property = isinstance(found, property | cached_property)
        is_public = not member.startswith("_") and member not in INSIDE
        if is_public and (is_property or inspect.isfunction(found)):
            yield member, found


def _call(name: str, value: Any) -> list[str]:
    words = _arguments(value)
    line = f"{name}({', '.join(words)})"
    if len(line) > 96:
        line = f"{name}(\n" + _folded(words) + "\n)"
    return ["```python", line, "```", ""]


def _arguments(value: Any) -> list[str]:
    """Arguments with their defaults, as one would type them."""
    parameters = list(inspect.signature(value).parameters.values())
    words, last = [], None
    for parameter in parameters:
        if parameter.name in ("self", "cls"):
            continue
        named = (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        if parameter.kind is parameter.KEYWORD_ONLY and last not in named:
            words.append("*")
        words.append(_parameter(parameter))
        last = parameter.kind
    return words


def _folded(words: list[str]) -> str:
    lines = ["   "]
    for word in words:
        if len(lines[-1]) + len(word) > 94:
            lines.append("   ")
        lines[-1] += f" {word},"
    return "\n".join(lines)


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    if parameter.default is parameter.empty:
        return stars + parameter.name
    return f"{parameter.name}={_default(parameter.default)}"


def _default(value: Any) -> str:
    """A default as one would type it; three dots for what has no short form."""
    if isinstance(value, float):
        return f"{value:.1f}" if value.is_integer() and abs(value) < 1e6 else f"{value:g}"
    if isinstance(value, str):
        return f'"{value}"'
    if value is None or isinstance(value, bool | int):
        return repr(value)
    if isinstance(value, tuple):
        inside = ", ".join(map(_default, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    shown = str(getattr(value, "name", value))
    return shown.upper() if shown.isidentifier() else "..."


def _docstring(value: Any) -> list[str]:
    """Markdown of a numpydoc docstring."""
    lines: list[str] = []
    for title, body in sections(inspect.getdoc(value) or ""):
        if title in ("Parameters", "Attributes"):
            lines += [f"**{title}**", "", *_definitions(body), ""]
        else:
            lines += ([f"**{title}**", ""] if title else []) + _prose(body)
    return lines


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Titles and bodies; what comes before the first title has none."""
    pieces = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", text, flags=re.MULTILINE)
    yield "", pieces[0].strip("\n")
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        yield title, body.strip("\n")


def _definitions(body: str) -> list[str]:
    """Arguments and what they are, as a list."""
    lines = []
    for line in body.splitlines():
        if line and not line.startswith(" "):
            names = ", ".join(f"`{name}`" for name in line.split(", "))
            lines.append(f"- {names}:")
        elif lines and lines[-1].startswith("- ") and lines[-1].endswith(":"):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(f"  {line.strip()}".rstrip())
    return lines


def _prose(body: str) -> list[str]:
    """Paragraphs as they are, examples in fences."""
    lines: list[str] = []
    is_example = False
    for paragraph in re.split(r"\n\s*\n", body):
        if paragraph.startswith(">>>"):
            lines += [paragraph] if is_example else ["```python", paragraph]
        else:
            lines += (["```", ""] if is_example else []) + [paragraph, ""]
        is_example = paragraph.startswith(">>>")
    return lines + (["```", ""] if is_example else [])


def _first_line(value: Any) -> str:
    if isinstance(value, cached_property):
        value = value.func
    described = callable(value) or isinstance(value, property | ModuleType)
    return (inspect.getdoc(value) if described else repr(value)).splitlines()[0]


def _anchor(name: str) -> str:
    return re.sub(r"[^\w]", "", name.lower())


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
