// A few options with letters.

import { makeBoard } from "../board.js";
import { h } from "../dom.js";
import { t } from "../texts.js";

const letter = (i) => String.fromCharCode(65 + i);

export const bandit = {
  hint: "hint_option",
  board(task, offer, onPick) {
    const n = task.options;
    return makeBoard({
      columns: n <= 4 ? n : Math.ceil(n / 2), count: n, kind: "cards", name: t("options_label"), onPick,
      label: (i) => t("option", { letter: letter(i) }),
      face: (i) => [h("span", { class: `letter shape-${i % 5}`, "aria-hidden": "true" }, letter(i))],
    });
  },
};
