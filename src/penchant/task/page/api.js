// Requests that are tried again, with the same body, until the server has answered.

import { banner } from "./dom.js";
import { t } from "./texts.js";

const PREFIX = "/api/v1";
const PAUSES = [300, 700, 1500, 3000, 5000, 8000];

export class Refused extends Error {
  constructor(status, body) {
    super(body?.error?.message ?? `status ${status}`);
    this.status = status;
    this.code = body?.error?.code ?? "";
    this.body = body ?? {};
  }
}

let token = null;
let tab = null;

export const setToken = (value) => { token = value; };
export const setTab = (value) => { tab = value; };
export const hasToken = () => token !== null;

const pause = (ms) => new Promise((resolve) => {
  const timer = setTimeout(done, ms);
  function done() { clearTimeout(timer); window.removeEventListener("online", done); resolve(); }
  window.addEventListener("online", done);
});

async function once(method, path, body) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), 20000);
  try {
    const headers = { "content-type": "application/json" };
    if (token) headers.authorization = `Bearer ${token}`;
    const reply = await fetch(PREFIX + path, {
      method, headers, body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store", credentials: "omit", signal: controller.signal,
    });
    return { status: reply.status, body: await reply.json(), wait: Number(reply.headers.get("retry-after")) };
  } finally {
    clearTimeout(timer);
  }
}

async function asked(method, path, body) {
  for (let attempt = 0; ; attempt += 1) {
    let found = null;
    try {
      found = await once(method, path, body);
    } catch {
      banner(t("reconnecting"), "trouble");
    }
    if (found && found.status < 400) {
      banner("");
      return found.body;
    }
    if (found && found.status !== 429 && found.status < 500) {
      banner("");
      throw new Refused(found.status, found.body);
    }
    if (found && found.status >= 500) banner(t("not_saved"), "trouble");
    const least = found?.wait ? 1000 * found.wait : 0;
    await pause(Math.max(least, PAUSES[Math.min(attempt, PAUSES.length - 1)] * (0.75 + Math.random() / 2)));
  }
}

export const get = (path) => asked("GET", path);
export const post = (path, body = {}) => asked("POST", path, tab === null || path === "/session/open" || path === "/sessions" ? body : { ...body, tab });

// What happens to the window: logged now and then, never waited for.
const events = [];

export function logEvent(kind, more = {}) {
  if (events.length < 50) events.push({ kind, ms: performance.now(), ...more });
}

export async function flushEvents() {
  if (!token || !events.length) return;
  const sent = events.splice(0, events.length);
  try {
    await fetch(`${PREFIX}/session/events`, {
      method: "POST", keepalive: true, credentials: "omit",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ events: sent }),
    });
  } catch {
    events.unshift(...sent.slice(0, 50 - events.length));
  }
}
