// Options in rows and columns: one tab stop, arrow keys, Home and End, Enter or Space, mouse, touch.

import { h } from "./dom.js";

export function makeBoard({ columns, count, label, face, name, kind, onPick }) {
  const cells = [];
  const board = h("div", { role: "grid", "aria-label": name, class: `board ${kind}`, "aria-readonly": "true" });
  board.style.setProperty("--columns", columns);
  for (let start = 0; start < count; start += columns) {
    const row = h("div", { role: "row", class: "row" });
    for (let i = start; i < Math.min(start + columns, count); i += 1) {
      const cell = h("div", { role: "gridcell", class: "cell", tabindex: i ? -1 : 0, "aria-label": label(i), "aria-selected": "false" }, ...face(i));
      cell.dataset.option = i;
      cells.push(cell);
      row.append(cell);
    }
    board.append(row);
  }
  let at = 0;

  function move(to) {
    if (to < 0 || to >= count) return;
    cells[at].tabIndex = -1;
    at = to;
    cells[at].tabIndex = 0;
    cells[at].focus();
  }

  board.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const column = at % columns;
    const last = Math.min(at - column + columns, count) - 1;
    const steps = {
      ArrowLeft: column ? at - 1 : -1, ArrowRight: at < last ? at + 1 : -1,
      ArrowUp: at - columns, ArrowDown: at + columns,
      Home: event.shiftKey ? 0 : at - column, End: event.shiftKey ? count - 1 : last,
    };
    if (event.key in steps) {
      event.preventDefault();
      move(steps[event.key]);
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (!event.repeat) onPick(at, "keyboard");
    }
  });
  board.addEventListener("click", (event) => {
    const cell = event.target.closest(".cell");
    if (!cell || event.detail > 1) return;  // the second click of a double click is no choice
    const option = Number(cell.dataset.option);
    cells[at].tabIndex = -1;
    at = option;
    cells[at].tabIndex = 0;
    cells[at].focus({ preventScroll: true });
    onPick(option, event.pointerType || "mouse");
  });

  return {
    element: board,
    focus: () => cells[at].focus({ preventScroll: true }),
    moveTo: (option) => { cells[at].tabIndex = -1; at = option; cells[at].tabIndex = 0; },
    mark(option) {
      for (const [i, cell] of cells.entries()) {
        cell.classList.toggle("marked", i === option);
        cell.setAttribute("aria-selected", String(i === option));
      }
    },
    outline(option) {
      for (const [i, cell] of cells.entries()) cell.classList.toggle("advised", i === option);
    },
    paid(option, text) {
      for (const cell of cells) {
        cell.classList.remove("paid");
        cell.querySelector(".pay")?.remove();
      }
      if (option === null) return;
      cells[option].classList.add("paid");
      if (text !== null) cells[option].append(h("span", { class: "pay", "aria-hidden": "true" }, text));
    },
    busy(is) {
      board.classList.toggle("busy", is);
      board.setAttribute("aria-disabled", String(is));
    },
  };
}
