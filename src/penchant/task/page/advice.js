// A suggestion: the own choice stays marked and comes first, another square is outlined, no timer.

import { h } from "./dom.js";
import { number, t } from "./texts.js";

const name = (option, task) => t("square", { row: Math.floor(option / task.width) + 1, column: (option % task.width) + 1 });

// The map that the machine reads: darker is more, paler is less sure.
function map(said, task) {
  const most = Math.max(...said.map.map(Math.abs), 1e-9);
  const wide = Math.max(...said.map_sd, 1e-9);
  const cells = said.map.map((value, i) => {
    const cell = h("span", { class: value >= 0 ? "more" : "less" });
    cell.style.opacity = Math.max(0.06, (Math.abs(value) / most) * (1 - 0.8 * (said.map_sd[i] / wide)));
    return cell;
  });
  const found = h("div", { class: "map", role: "img", "aria-label": t("advice_map") }, ...cells);
  found.style.setProperty("--columns", task.width);
  return found;
}

// The option that is taken: the own one where the machine says nothing.
export function advised(said, task, board, live, place) {
  if (said.option === null) return Promise.resolve(said.proposed);
  return new Promise((resolve) => {
    board.mark(said.proposed);
    board.outline(said.option);
    board.busy(true);
    live.className = "live";
    live.textContent = said.reason;
    const take = (option) => () => {
      board.outline(null);
      place.replaceChildren();
      resolve(option);
    };
    const own = h("button", { type: "button", class: "primary", onclick: take(said.proposed) }, t("advice_own", { square: name(said.proposed, task) }));
    const other = h("button", { type: "button", class: "quiet", onclick: take(said.option) }, t("advice_other", { square: name(said.option, task) }));
    const percent = number(Math.round(100 * said.p_better));
    const more = h("details", {},
      h("summary", {}, t("advice_why")),
      h("p", {}, t("advice_better", { percent, low: number(Math.round(said.gain[0])), high: number(Math.round(said.gain[2])) })),
      h("p", {}, t("advice_trust", { percent: number(Math.round(100 * said.trust)) })),
      map(said, task));
    place.replaceChildren(h("div", { class: "advice", role: "group", "aria-label": t("advice_title") }, h("div", { class: "actions" }, own, other), more));
    own.focus();
  });
}
