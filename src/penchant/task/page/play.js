// One block: show, take, send, pay; the pace where there is one.

import { banner, h } from "./dom.js";
import { logEvent, post, Refused } from "./api.js";
import { number, t } from "./texts.js";
import { advised } from "./advice.js";
import { bandit } from "./tasks/bandit.js";
import { grid } from "./tasks/grid.js";
import { offers } from "./tasks/offers.js";

const TASKS = { grid, bandit, offers };
const PENDING = "penchant-pending";
const MOST_MARKS = 200;

const still = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const pending = {
  keep: (body) => { try { sessionStorage.setItem(PENDING, JSON.stringify(body)); } catch { /* none */ } },
  drop: () => { try { sessionStorage.removeItem(PENDING); } catch { /* none */ } },
  found() { try { return JSON.parse(sessionStorage.getItem(PENDING)); } catch { return null; } },
};

// Plays until the block ends or pauses; gives the state that comes next.
export async function playBlock(state, place) {
  const { block } = state;
  const kind = TASKS[block.task.kind];
  const timed = block.seconds !== null;
  let { decision, offer, total } = state;
  let practice = 0;
  for (const past of state.history) practice += past.reward ?? 0;
  let pick = () => {};
  let board = kind.board(block.task, offer, (option, input) => pick(option, input));

  const count = h("p", { class: "count" });
  const points = h("p", { class: "points" });
  const bar = h("div", { class: "bar", "aria-hidden": "true" }, h("div", { class: "fill" }));
  const clock = h("div", { class: "clock", "aria-hidden": "true" }, h("div", { class: "sand" }));
  const live = h("p", { class: "live", role: "status", "aria-live": "polite" }, t(timed ? "hint_timed" : kind.hint));
  const holder = h("div", { class: "holder" }, board.element);
  const beside = h("div", { class: "beside" });
  const paying = block.task.kind !== "offers";
  place(
    h("h1", { class: "visually-hidden" }, block.practice ? t("practice_title") : t("block_title", { part: block.index + 1, parts: block.count })),
    h("div", { class: `play ${block.task.kind}` },
      h("div", { class: "status" }, count, paying ? points : null), bar, timed ? clock : null,
      block.advice ? h("p", { class: "announced" }, t(block.assisted ? "assist_on" : "assist_off")) : null, live, holder, beside),
  );

  function header() {
    count.textContent = t("choice_of", { n: Math.min(decision + 1, block.decisions), of: block.decisions });
    const sum = block.practice ? practice : total;
    points.replaceChildren(h("span", { class: "what" }, t(block.practice ? "practice_total" : "total")), " ", h("strong", {}, number(Math.round(sum * 1e6) / 1e6)));
    bar.firstChild.style.width = `${(100 * decision) / block.decisions}%`;
  }

  // The option of one decision, with what the page measured; with a pace, when time is up.
  function taken(limit) {
    return new Promise((resolve) => {
      const marks = [];
      let marked = null;
      let input = "mouse";
      const onset = performance.now();
      const end = (option) => {
        pick = () => {};
        board.busy(true);
        const client = { onset_ms: onset, taken_ms: performance.now(), marks: marks.slice(-MOST_MARKS) };
        if (option !== null) client.input = input;
        resolve({ option, client });
      };
      board.busy(false);
      pick = (option, how) => {
        input = ["mouse", "touch", "pen", "keyboard"].includes(how) ? how : "mouse";
        marks.push([option, performance.now() - onset]);
        if (!timed) return end(option);
        marked = option;
        board.mark(option);
        board.paid(null);
        return undefined;
      };
      if (!timed) return;
      const sand = clock.firstChild;
      const tick = () => {
        const left = limit - (performance.now() - onset);
        sand.style.transform = `scaleX(${Math.max(0, left / (1000 * block.seconds))})`;
        if (left <= 0) end(marked);
        else if (document.hidden) setTimeout(tick, Math.min(left, 100));
        else requestAnimationFrame(tick);
      };
      tick();
    });
  }

  let limit = state.remaining_ms ?? 0;
  let proposal = state.proposal ?? null;  // made before the page was loaded again
  for (;;) {
    header();
    const kept = pending.found();
    let body = null;
    if (kept && kept.block === block.index && kept.decision === decision) {
      body = kept;
    } else {
      await still();
      if (!document.activeElement || !holder.contains(document.activeElement)) board.focus();
      const { option: own, client } = proposal ? { option: proposal.proposed, client: {} } : await taken(limit);
      let option = own;
      if (block.advice) {
        const said = proposal ?? await post("/session/proposals", { block: block.index, decision, option });
        proposal = null;
        option = await advised(said, block.task, board, live, beside);
      }
      body = { block: block.index, decision, ready: !document.hidden, client };
      if (option === null) body.unmarked = true;
      else body.option = option;
    }
    pending.keep(body);
    let reply;
    try {
      reply = await post("/session/decisions", body);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      pending.drop();
      if (!error.body.decision) throw error;
      reply = error.body;  // the server has another one, which counts
    }
    pending.drop();
    const got = reply.decision;
    total = reply.total;
    practice += got.reward ?? 0;
    board.mark(null);
    if (got.reward !== null) {
      const words = number(got.reward);
      board.paid(got.option, words);
      live.className = "live paid";
      live.textContent = got.auto ? t("auto", { reward: words }) : t("reward", { reward: words });
    } else {
      board.paid(got.option, null);
      live.textContent = t("nothing_paid");
    }
    decision = got.decision + 1;
    header();
    const over = Boolean(reply.state);
    if (timed || over || kind.fresh) await wait(timed || over ? Math.max(block.feedback_ms, over ? 900 : 0) : 250);
    if (over) return reply.state;
    if (timed) board.paid(null);
    ({ decision, offer } = reply.next);
    if (kind.fresh) {
      board = kind.board(block.task, offer, (option, how) => pick(option, how));
      holder.replaceChildren(board.element);
      live.textContent = t(timed ? "hint_timed" : kind.hint);
    }
    if (kept) banner("");
    limit = 1000 * (block.seconds ?? 0);
    if (timed) logEventOnce();
  }
}

let hiddenLogged = false;
function logEventOnce() {
  if (document.hidden && !hiddenLogged) { logEvent("hidden"); hiddenLogged = true; }
}
