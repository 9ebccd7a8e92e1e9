// From the arrival to the end: the server says where one is, the page shows it.

import { flushEvents, get, hasToken, logEvent, post, Refused, setTab, setToken } from "./api.js";
import { playBlock } from "./play.js";
import { checkScreen, consentScreen, endScreen, footer, instructionsScreen, messageScreen, readyScreen } from "./screens.js";
import { show } from "./dom.js";
import { loadTexts, t } from "./texts.js";

const KEY = "penchant-session";
const query = new URLSearchParams(window.location.search);
const ID_PARAMETERS = ["id", "PROLIFIC_PID", "workerId", "survey_code", "participant"];
let stored = null;

function storage(kind) {
  try { return window[kind]; } catch { return null; }
}

function remembered(key) {
  for (const kind of ["sessionStorage", "localStorage"]) {
    const text = storage(kind)?.getItem(key);
    if (text) { try { return JSON.parse(text); } catch { /* as if there were none */ } }
  }
  return null;
}

function remember(key, value, resume) {
  storage(resume === "never" ? "sessionStorage" : "localStorage")?.setItem(key, JSON.stringify(value));
}

function forget(key) {
  storage("sessionStorage")?.removeItem(key);
  storage("localStorage")?.removeItem(key);
}

function identity(own) {
  for (const name of [own, ...ID_PARAMETERS]) {
    if (name && query.has(name)) return query.get(name);
  }
  return null;
}

const random = () => Array.from(crypto.getRandomValues(new Uint8Array(18)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// The state of this person's session; a new session where there is none.
async function arrive() {
  const about = await get("/study");
  document.getElementById("title").textContent = about.title;
  const id = identity(about.id_parameter);
  stored = `${KEY}-${id ?? ""}`;
  const known = remembered(stored);
  if (known?.token) {
    setToken(known.token);
    try {
      return await post("/session/open");
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 401) throw error;
      forget(stored);
      setToken(null);
    }
  }
  const visit = known?.visit ?? random();
  remember(stored, { visit }, "never");
  const body = id === null ? { visit } : { id, visit };
  const reply = await post("/sessions", body);
  forget(stored);
  remember(stored, { token: reply.token }, reply.state.study.resume);
  setToken(reply.token);
  return post("/session/open");
}

async function run() {
  let state = await arrive();
  let known = {};
  for (;;) {
    setTab(state.tab);
    document.title = state.study.title;
    document.getElementById("title").textContent = state.study.title;
    footer(state, withdraw);
    document.body.dataset.stage = state.stage;
    if (state.stage === "consent") state = await consentScreen(state);
    else if (state.stage === "instructions") state = await instructionsScreen(state);
    else if (state.stage === "check") ({ state, known } = await checkScreen(state, known));
    else if (state.stage === "ready") state = await readyScreen(state);
    else if (state.stage === "play") state = await playBlock(state, show);
    else {
      await flushEvents();
      endScreen(state);
      return;
    }
  }
}

async function withdraw() {
  try {
    await post("/session/withdraw", {});
  } catch { /* shown by what comes next */ }
  window.location.reload();
}

async function begin() {
  try {
    await run();
  } catch (error) {
    troubled(error);
  }
}

function troubled(error) {
  document.body.dataset.stage = "message";
  if (!(error instanceof Refused)) {
    console.warn(error);
    messageScreen("trouble_title", "trouble_lead", "reload", () => window.location.reload());
  } else if (error.code === "superseded" || (error.status === 401 && hasToken())) {
    messageScreen("superseded_title", "superseded_lead", "take_over", begin);
  } else if (error.code === "already begun") {
    messageScreen("already_title", "already_lead");
  } else if (error.code === "full") {
    messageScreen("full_title", "full_lead");
  } else if (error.status === 422 && error.body?.error?.field === "id") {
    messageScreen("wrong_id_title", "wrong_id_lead");
  } else if (error.status === 409 || error.status === 410) {
    retries += 1;
    if (retries < 20) begin();  // the server knows better where we are
    else messageScreen("trouble_title", "trouble_lead", "reload", () => window.location.reload());
  } else {
    messageScreen("trouble_title", "trouble_lead", "reload", () => window.location.reload());
  }
}

let retries = 0;

for (const [target, name, kind] of [[window, "blur"], [window, "focus"], [window, "offline"], [window, "online"], [document, "fullscreenchange", "fullscreen"]]) {
  target.addEventListener(name, () => logEvent(kind ?? name));
}
window.addEventListener("resize", () => logEvent("resize", { width: window.innerWidth, height: window.innerHeight }));
document.addEventListener("visibilitychange", () => {
  logEvent(document.hidden ? "hidden" : "visible");
  if (document.hidden) flushEvents();
});
setInterval(flushEvents, 10000);

await loadTexts("en");
document.querySelector("#main .waiting").textContent = t("loading");
begin();
