// Amounts now and later, sure and risky: a new board at every decision.

import { makeBoard } from "../board.js";
import { h } from "../dom.js";
import { number, t } from "../texts.js";

function when(days) {
  if (days === 0) return t("today");
  return days === 1 ? t("in_day") : t("in_days", { days: number(days) });
}

function lines(task, offer, i) {
  const found = [`${number(offer.amount[i])} ${task.currency}`];
  if (offer.delay) found.push(when(offer.delay[i]));
  if (offer.probability) {
    const p = offer.probability[i];
    found.push(p === 1 ? t("for_sure") : t("chance", { percent: number(Math.round(p * 1e4) / 100) }));
    if (p < 1) found.push(t("chance_nothing"));
  }
  return found;
}

export const offers = {
  hint: "hint_option",
  fresh: true,
  board(task, offer, onPick) {
    return makeBoard({
      columns: task.options, count: task.options, kind: "offers", name: t("options_label"), onPick,
      label: (i) => lines(task, offer, i).join(", "),
      face: (i) => lines(task, offer, i).map((line, k) => h("span", { class: k ? "line" : "amount", "aria-hidden": "true" }, line)),
    });
  },
};
