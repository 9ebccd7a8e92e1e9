"""One way to show a result: text, HTML, LaTeX, JSON."""
