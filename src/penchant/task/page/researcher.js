// Who is where, choices as they come, and the live estimate of each person.

import { h } from "./dom.js";

const main = document.getElementById("main");
const live = document.getElementById("live");
let chosen = null;
let parts = null;
let overview = null;

const number = (value, digits = 4) => (value === null || value === undefined ? "–" : Number(Number(value).toPrecision(digits)).toLocaleString("en"));
const words = (name) => name.replaceAll("_", " ");

async function asked(path, options = {}) {
  const reply = await fetch(path, { cache: "no-store", ...options });
  if (reply.status === 401) throw Object.assign(new Error("no token"), { status: 401 });
  if (!reply.ok) throw Object.assign(new Error((await reply.json()).error.message), { status: reply.status });
  return reply.json();
}

const signIn = (token) => asked("/researcher/login", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ token }) });

function showLogin(message = "") {
  live.hidden = true;
  const input = h("input", { type: "password", name: "token", autocomplete: "current-password", required: true });
  const said = h("p", { class: "message", role: "alert" }, message);
  const form = h("form", { class: "card narrow" },
    h("h1", {}, "Researcher"), h("p", {}, "The token is the one that the server was started with."),
    h("label", { class: "field" }, h("span", {}, "Token"), input), said,
    h("div", { class: "actions" }, h("button", { class: "primary", type: "submit" }, "Open")));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await signIn(input.value);
      start();
    } catch (error) { said.textContent = error.message; }
  });
  main.replaceChildren(form);
  input.focus();
}

function stage(one) {
  if (one.outcome) return [one.outcome === "completed" ? "finished" : one.outcome, one.outcome === "completed" ? "done" : ""];
  if (one.stalled) return [`stalled ${duration(one.idle)}`, "stalled"];
  return [{ consent: "consent", instructions: "instructions", check: "check", ready: "waiting", play: "playing" }[one.stage], one.stage === "play" ? "play" : ""];
}

const duration = (seconds) => (seconds < 90 ? `${seconds} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`);

function frame() {
  parts = {
    funnel: h("ol", { class: "funnel", "aria-label": "People by stage" }),
    facts: h("p", { class: "facts" }),
    rows: h("tbody"),
    detail: h("section", { class: "card detail", "aria-live": "off" }, h("p", { class: "waiting" }, "Choose a person to see choices and the estimate.")),
  };
  main.replaceChildren(h("h1", { class: "visually-hidden" }, "Researcher's page"), parts.funnel, parts.facts, h("div", { class: "columns" },
    h("section", { class: "card" }, h("h2", {}, "People"), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "People" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Person", "Stage", "Condition", "Choices", "Points", "Estimate"].map((name) => h("th", { scope: "col" }, name)))), parts.rows))),
    parts.detail));
}

function showOverview(found) {
  overview = found;
  if (!parts) frame();
  document.getElementById("title").textContent = found.study.title;
  document.title = `${found.study.title} – researcher`;
  const most = Math.max(1, found.funnel.arrived);
  parts.funnel.replaceChildren(...Object.entries(found.funnel).map(([name, n]) => {
    const fill = h("i");
    fill.style.width = `${(100 * n) / most}%`;
    return h("li", {}, h("span", { class: "n" }, String(n)), h("span", { class: "what" }, name), h("span", { class: "share", "aria-hidden": "true" }, fill));
  }));
  const stalled = found.people.filter((one) => one.stalled).length;
  const other = Object.entries(found.outcomes).filter(([name]) => name !== "completed");
  parts.facts.replaceChildren(
    h("span", {}, h("b", {}, String(found.decisions)), " choices"),
    h("span", {}, h("b", {}, String(stalled)), " stalled"),
    ...other.map(([name, n]) => h("span", {}, h("b", {}, String(n)), ` ${name}`)),
    ...found.cells.map((cell) => h("span", {}, `${cell.condition}: `, h("b", {}, `${cell.finished}/${cell.assigned}`))),
    h("a", { href: "/researcher/export/choices.csv", download: true }, "choices.csv"));
  parts.rows.replaceChildren(...found.people.map((one) => {
    const [text, kind] = stage(one);
    const fill = h("i");
    fill.style.width = `${one.of ? (100 * one.done) / one.of : 0}%`;
    const open = () => { chosen = one.session; refreshPerson(); showOverview(overview); };
    return h("tr", { class: one.session === chosen ? "chosen" : "", onclick: open },
      h("td", {}, h("button", { type: "button", class: "link", onclick: (event) => { event.stopPropagation(); open(); } }, one.person)),
      h("td", {}, h("span", { class: `tag ${kind}` }, text)), h("td", {}, one.condition ?? ""),
      h("td", {}, h("span", { class: "progress", "aria-hidden": "true" }, fill), ` ${one.done}/${one.of}`),
      h("td", {}, number(one.points)), h("td", {}, one.estimate?.status ?? ""));
  }));
}

async function refreshPerson() {
  if (chosen === null) return;
  try {
    showPerson(await asked(`/researcher/people/${chosen}`));
  } catch (error) {
    if (error.status === 401) showLogin();
  }
}

function shade(cell, share) {
  const value = Math.sqrt(share);
  cell.style.backgroundColor = share ? `rgb(${Math.round(227 - 191 * value)} ${Math.round(237 - 152 * value)} ${Math.round(246 - 119 * value)})` : "";
  if (value > 0.55) cell.classList.add("dark");
}

function choiceMap(found) {
  const { task } = found;
  const n = task.kind === "grid" ? task.width * task.height : task.options;
  const counts = Array(n).fill(0);
  for (const one of found.choices) counts[one.option] += 1;
  const most = Math.max(1, ...counts);
  if (task.kind !== "grid") {
    return h("ul", { class: "bars" }, counts.map((count, i) => {
      const bar = h("i");
      bar.style.width = `${(100 * count) / most}%`;
      return h("li", {}, h("span", {}, String.fromCharCode(65 + i)), h("span", {}, bar), h("span", {}, String(count)));
    }));
  }
  const map = h("div", { class: "map", role: "img", "aria-label": "How often each square was chosen" });
  map.style.gridTemplateColumns = `repeat(${task.width}, 1fr)`;
  const last = found.choices.at(-1)?.option;
  map.append(...counts.map((count, i) => {
    const cell = h("span", { class: i === last ? "last" : "" }, count ? String(count) : "");
    shade(cell, count / most);
    return cell;
  }));
  return map;
}

const svg = (tag, properties) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(properties)) element.setAttribute(name, value);
  return element;
};

function rewardLine(choices) {
  const paid = choices.filter((one) => one.reward !== null);
  if (paid.length < 2) return null;
  const values = paid.map((one) => one.reward);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const x = (i) => 30 + (285 * i) / (paid.length - 1);
  const y = (value) => 105 - (95 * (value - low)) / (high - low || 1);
  const drawing = svg("svg", { viewBox: "0 0 320 120", class: "line", role: "img", "aria-label": `Rewards from ${low} to ${high}` });
  for (const value of [low, high]) {
    const text = svg("text", { x: 26, y: y(value) + 4, "text-anchor": "end", "font-size": 10, fill: "#56606e" });
    text.textContent = number(value, 3);
    drawing.append(svg("line", { x1: 30, x2: 316, y1: y(value), y2: y(value), stroke: "#dde2e8" }), text);
  }
  drawing.append(svg("polyline", { points: paid.map((one, i) => `${x(i).toFixed(1)},${y(one.reward).toFixed(1)}`).join(" "), fill: "none", stroke: "#24557f", "stroke-width": 1.6, "stroke-linejoin": "round" }));
  return drawing;
}

function estimate(found) {
  if (!found) return h("p", { class: "small" }, "No estimate yet.");
  return h("div", {},
    h("p", { class: "small" }, `${found.model}, ${found.decisions} decisions${found.age ? `, ${found.age} s behind` : ""}: `, h("span", { class: `tag ${found.status === "converged" ? "done" : ""}` }, found.status ?? found.error ?? "")),
    h("div", { class: "intervals" }, (found.parameters ?? []).map((one) => h("div", { class: "interval" },
      h("div", { class: "top" }, h("span", {}, words(one.name)), h("span", {}, h("b", {}, number(one.estimate)), ` (${one.low === null ? "−∞" : number(one.low, 3)} to ${one.high === null ? "∞" : number(one.high, 3)})`))))));
}

function showPerson(found) {
  const [text, kind] = stage(found);
  parts.detail.replaceChildren(
    h("h2", {}, `${found.person} `, h("span", { class: `tag ${kind}` }, text)),
    h("p", { class: "small" }, `${found.condition ?? ""} · ${found.done} of ${found.of} choices · ${number(found.points)} points`),
    h("h3", {}, "Live estimate, 95 % interval"), estimate(found.estimate),
    ...(found.task && found.choices.length ? [h("h3", {}, "Choices of this block"), choiceMap(found), ...[rewardLine(found.choices)].filter(Boolean)] : []),
    h("h3", {}, "Last events"), h("ul", {}, found.events.map((one) => h("li", {}, `${one.kind}, ${duration(one.ago)} ago`))));
}

function start() {
  live.hidden = false;
  parts = null;
  const stream = new EventSource("/researcher/stream");
  stream.addEventListener("overview", (event) => {
    live.textContent = "live";
    live.className = "";
    showOverview(JSON.parse(event.data));
    refreshPerson();
  });
  stream.addEventListener("error", async () => {
    live.textContent = "reconnecting";
    live.className = "off";
    if (stream.readyState === EventSource.CLOSED) {
      try { await asked("/researcher/overview"); setTimeout(start, 2000); } catch (error) { if (error.status === 401) showLogin(); else setTimeout(start, 4000); }
    }
  });
}

async function begin() {
  const token = window.location.hash.slice(1);
  if (token) {
    window.history.replaceState(null, "", "/researcher");
    try { await signIn(token); } catch (error) { showLogin(error.message); return; }
  }
  try {
    showOverview(await asked("/researcher/overview"));
    start();
  } catch (error) {
    if (error.status === 401) showLogin(); else main.replaceChildren(h("p", { class: "card" }, error.message));
  }
}

begin();
