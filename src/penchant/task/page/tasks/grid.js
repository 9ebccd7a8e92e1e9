// Squares on a grid.

import { makeBoard } from "../board.js";
import { t } from "../texts.js";

export const grid = {
  hint: "hint_self",
  board(task, offer, onPick) {
    return makeBoard({
      columns: task.width, count: task.width * task.height, kind: "squares", name: t("grid_label"), onPick,
      label: (i) => t("square", { row: Math.floor(i / task.width) + 1, column: (i % task.width) + 1 }),
      face: () => [],
    });
  },
};
