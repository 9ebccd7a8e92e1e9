// The pages around the task.

import { get, post } from "./api.js";
import { h, paragraphs, show } from "./dom.js";
import { number, t } from "./texts.js";

const button = (text, onclick, kind = "primary") => h("button", { type: "button", class: kind, onclick }, text);

// A button acts once: what it starts is waited for.
function acting(element, act) {
  element.addEventListener("click", async () => {
    if (element.disabled) return;
    element.disabled = true;
    try { await act(); } finally { element.disabled = false; }
  });
  return element;
}

export function consentScreen(state) {
  return new Promise((resolve, reject) => {
    const answer = (agrees) => post("/session/consent", { agrees, version: state.consent.version }).then(resolve, reject);
    show(h("section", { class: "card" },
      h("h1", {}, t("consent_title")),
      h("div", { class: "text" }, paragraphs(state.consent.text)),
      h("div", { class: "actions" },
        acting(button(t("consent_yes"), null), () => answer(true)),
        acting(button(t("consent_no"), null, "quiet"), () => answer(false)))));
  });
}

export function instructionsScreen(state) {
  const { pages } = state.instructions;
  return new Promise((resolve, reject) => {
    function page(i) {
      const last = i === pages.length - 1;
      const next = acting(button(t("continue")), () => (last ? post("/session/instructions").then(resolve, reject) : page(i + 1)));
      show(h("section", { class: "card" },
        h("p", { class: "step" }, t("page_of", { page: i + 1, pages: pages.length })),
        h("h1", {}, t("instructions_title")),
        h("div", { class: "text" }, paragraphs(pages[i])),
        h("div", { class: "actions" }, next, i ? button(t("back"), () => page(i - 1), "quiet") : null)));
    }
    page(0);
  });
}

export function checkScreen(state, known = {}) {
  return new Promise((resolve, reject) => {
    const { questions, attempts_left: left } = state.check;
    const message = h("p", { class: "message", role: "alert" });
    if (known.wrong?.length) {
      message.textContent = t("check_wrong", { questions: known.wrong.map((i) => i + 1).join(", "), left });
    }
    const form = h("form", { novalidate: true }, questions.map((question, i) => h("fieldset", { class: known.wrong?.includes(i) ? "wrong" : "" },
      h("legend", {}, `${i + 1}. ${question.question}`),
      question.answers.map((answer, k) => h("label", { class: "answer" },
        h("input", { type: "radio", name: `q${i}`, value: k, checked: known.answers?.[i] === k }), h("span", {}, answer))))));
    const send = acting(button(t("check_send")), async () => {
      const answers = questions.map((_, i) => form.elements[`q${i}`].value);
      if (answers.some((answer) => answer === "")) {
        message.textContent = t("check_missing");
        return;
      }
      const numbers = answers.map(Number);
      try {
        const reply = await post("/session/check", { answers: numbers });
        resolve({ state: reply, known: { wrong: reply.wrong, answers: numbers } });
      } catch (error) { reject(error); }
    });
    form.addEventListener("submit", (event) => { event.preventDefault(); send.click(); });
    show(h("section", { class: "card" },
      h("h1", {}, t("check_title")), h("p", { class: "lead" }, t("check_lead")), form, message,
      h("div", { class: "actions" }, send)));
  });
}

export function readyScreen(state) {
  const { block, decision } = state;
  const paused = decision > 0;
  const title = paused ? t("paused_title") : block.title || (block.practice ? t("practice_title") : block.count > 1 ? t("block_title", { part: block.index + 1, parts: block.count }) : t("block_one"));
  const values = { decisions: block.decisions, seconds: block.seconds === null ? "" : number(block.seconds) };
  const lead = paused ? t("paused_lead") : t(block.seconds === null ? "block_lead" : "block_lead_timed", values);
  const last = state.history.at(-1);
  return new Promise((resolve, reject) => {
    show(h("section", { class: "card narrow" },
      h("h1", {}, title),
      paused && last?.auto ? h("p", {}, t("paused_auto")) : null,
      block.practice && !paused ? h("p", { class: "lead" }, t("practice_lead")) : null,
      h("p", { class: "lead" }, lead),
      h("div", { class: "actions" }, acting(button(t(paused ? "resume" : "start")), () => post("/session/begin", { block: block.index, decision }).then(resolve, reject)))));
  });
}

export function endScreen(state) {
  const { outcome, text, code, address, estimate } = state.end;
  const parts = [h("h1", {}, t(`end_${outcome}`)), ...paragraphs(text || t(`end_text_${outcome}`))];
  if (outcome === "completed" && state.total) parts.push(h("p", { class: "total" }, t("your_total", { total: number(Math.round(state.total * 100) / 100) })));
  if (code) {
    const copy = button(t("copy"), async () => {
      try { await navigator.clipboard.writeText(code); copy.textContent = t("copied"); } catch { /* it can be typed */ }
    }, "quiet small");
    parts.push(h("div", { class: "code" }, h("span", { class: "what" }, t("code")), h("code", {}, code), copy));
  }
  if (address) parts.push(h("div", { class: "actions" }, h("a", { class: "button primary", href: address, rel: "noreferrer" }, t("return"))));
  const told = h("div", {});
  show(h("section", { class: "card narrow" }, parts, told));
  if (estimate) showEstimate(told);
}

async function showEstimate(place) {
  place.replaceChildren(h("div", { class: "estimate", role: "status" }, h("h2", {}, t("estimate_title")), h("p", { class: "waiting" }, t("estimate_wait"))));
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const { estimate } = await get("/session/estimate");
    if (estimate) {
      const rows = (estimate.parameters ?? []).filter((one) => one.estimate !== null);
      const words = (one) => t("between", { estimate: round(one.estimate), low: one.low === null ? "−∞" : round(one.low), high: one.high === null ? "∞" : round(one.high) });
      place.replaceChildren(h("div", { class: "estimate" }, h("h2", {}, t("estimate_title")),
        rows.length ? h("dl", {}, rows.map((one) => [h("dt", {}, t(one.name)), h("dd", {}, words(one))])) : h("p", {}, t("estimate_none")),
        h("p", { class: "small" }, t("estimate_lead"))));
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 1500));
  }
  place.replaceChildren();
}

const round = (value) => number(Number(Number(value).toPrecision(3)));

export function messageScreen(title, lead, label, act) {
  show(h("section", { class: "card narrow" }, h("h1", {}, t(title)), h("p", { class: "lead" }, t(lead)),
    label ? h("div", { class: "actions" }, button(t(label), act)) : null));
}

export function footer(state, onWithdraw) {
  const place = document.getElementById("foot");
  const { contact } = state.study;
  const ask = h("dialog", { class: "card narrow", "aria-labelledby": "withdraw-title" },
    h("h2", { id: "withdraw-title" }, t("withdraw_title")), h("p", {}, t("withdraw_lead")),
    h("div", { class: "actions" }, button(t("withdraw_no"), () => ask.close()), button(t("withdraw_yes"), () => { ask.close(); onWithdraw(); }, "quiet danger")));
  const over = state.stage === "end" || state.stage === "consent";
  place.replaceChildren(...[
    contact ? h("span", {}, t("contact", { contact })) : null,
    over ? null : h("button", { type: "button", class: "link", onclick: () => ask.showModal() }, t("withdraw")), ask,
  ].filter(Boolean));
}
