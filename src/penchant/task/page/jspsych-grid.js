// The grid as a plugin of jsPsych 8: one trial is one block of choices.
//
// Rewards come from `reward`, a function (option, decision) => number or promise of one. Draw them on
// a server, so that the page does not hold them; jspsych.html shows how to ask `penchant serve`.

import { makeBoard } from "./board.js";
import { h } from "./dom.js";

const Type = globalThis.jsPsychModule?.ParameterType
  ?? { BOOL: 0, STRING: 1, INT: 2, FLOAT: 3, FUNCTION: 4, COMPLEX: 13 };

const info = {
  name: "penchant-grid",
  version: "1.0.0",
  parameters: {
    width: { type: Type.INT, default: 10 },
    height: { type: Type.INT, default: 10 },
    decisions: { type: Type.INT, default: 90 },
    reward: { type: Type.FUNCTION, default: undefined },
    seconds: { type: Type.FLOAT, default: null },
    feedback_ms: { type: Type.INT, default: 600 },
    prompt: { type: Type.STRING, default: "Choose a square." },
    points: { type: Type.STRING, default: "points" },
  },
  data: {
    chosen: { type: Type.INT, array: true },
    rewards: { type: Type.FLOAT, array: true },
    rts: { type: Type.FLOAT, array: true },
    auto: { type: Type.BOOL, array: true },
    total: { type: Type.FLOAT },
  },
};

export class PenchantGrid {
  static info = info;

  constructor(jsPsych) { this.jsPsych = jsPsych; }

  trial(display, trial, onLoad) {
    display.replaceChildren();
    this.play(display, trial, null);
    onLoad?.();
    return undefined;
  }

  // Plays all choices; `given` are those of a simulation, made without anybody.
  async play(display, trial, given) {
    const found = { chosen: [], rewards: [], rts: [], auto: [], total: 0 };
    let pick = () => {};
    const board = makeBoard({
      columns: trial.width, count: trial.width * trial.height, kind: "squares", name: trial.prompt,
      label: (i) => `Row ${Math.floor(i / trial.width) + 1}, column ${(i % trial.width) + 1}`,
      face: () => [], onPick: (option) => pick(option),
    });
    const count = h("p", { class: "count" });
    const total = h("p", { class: "points" });
    const live = h("p", { class: "live", role: "status", "aria-live": "polite" }, trial.prompt);
    display.append(h("div", { class: "play grid penchant-grid" }, h("div", { class: "status" }, count, total), live, board.element));
    for (let decision = 0; decision < trial.decisions; decision += 1) {
      count.textContent = `${decision + 1} / ${trial.decisions}`;
      total.textContent = `${found.total} ${trial.points}`;
      board.busy(false);
      const onset = performance.now();
      const last = found.chosen.at(-1);
      const { option, auto } = given ? { option: given[decision], auto: false } : await new Promise((resolve) => {
        let marked = null;
        pick = (chosen) => {
          if (trial.seconds === null) resolve({ option: chosen, auto: false });
          else { marked = chosen; board.mark(chosen); }
        };
        if (trial.seconds !== null) {
          setTimeout(() => resolve({
            option: marked ?? last ?? Math.floor(Math.random() * trial.width * trial.height), auto: marked === null,
          }), 1000 * trial.seconds);
        }
      });
      pick = () => {};
      board.busy(true);
      found.rts.push(performance.now() - onset);
      const paid = await trial.reward(option, decision);
      found.chosen.push(option);
      found.rewards.push(paid);
      found.auto.push(auto);
      found.total += paid;
      board.mark(null);
      board.paid(option, String(paid));
      live.textContent = `${paid} ${trial.points}`;
      if (trial.seconds !== null && !given) await new Promise((resolve) => setTimeout(resolve, trial.feedback_ms));
    }
    display.replaceChildren();
    this.jsPsych.finishTrial(found);
    return found;
  }

  // Random choices: "data-only" without a board to be seen, "visual" as somebody would see them.
  simulate(trial, mode, options, onLoad) {
    const n = trial.width * trial.height;
    const given = options?.data?.chosen ?? Array.from({ length: trial.decisions }, () => Math.floor(Math.random() * n));
    const display = mode === "visual" ? this.jsPsych.getDisplayElement() : document.createElement("div");
    onLoad?.();
    this.play(display, trial, given);
  }
}

export default PenchantGrid;
