// Numbers and times as people read them, and elements made without markup: every text goes in as text.

export const DASH = "—";

export function tokens(n) {
  if (n == null) return DASH;
  if (n < 1000) return String(n);
  if (n < 1e6) return trimmed(n / 1e3, n < 1e5 ? 1 : 0) + "k";
  return trimmed(n / 1e6, n < 1e8 ? 1 : 0) + "M";
}

// A cost in dollars: a dash when it is unknown, a plus when some of it is. Small ones have two digits that say something.
export function cost(usd, unpriced) {
  if (usd == null) return DASH;
  const digits = usd === 0 || usd >= 1 ? 2 : usd >= 0.001 ? 4 : Math.min(20, Math.max(4, 1 - Math.floor(Math.log10(usd))));
  return "$" + usd.toFixed(digits) + (unpriced ? "+" : "");
}

export function costTitle(usd, unpriced) {
  if (usd == null) return unpriced ? "the price of the model isn't known" : "";
  return unpriced ? `and ${plural(unpriced, "call")} whose price isn't known` : "";
}

export function duration(ms) {
  if (ms == null) return DASH;
  if (ms < 1000) return Math.round(ms) + " ms";
  if (ms < 60e3) return trimmed(ms / 1e3, 1) + " s";
  const s = Math.floor(ms / 1e3);
  if (s < 3600) return `${Math.floor(s / 60)} m ${two(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${two(Math.floor((s % 3600) / 60))} m`;
}

// A stamp of a journal in the reader's own time; one that is no time as it stands.
export function moment(stamp) {
  const at = Date.parse(stamp);
  if (!/^\d{4}-/.test(stamp || "") || Number.isNaN(at)) return stamp || DASH;
  return new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" });
}

export function ago(seconds) {
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

export const plural = (n, word) => `${n.toLocaleString()} ${word}${n === 1 ? "" : "s"}`;
const trimmed = (n, digits) => n.toFixed(digits).replace(/\.0$/, "");
const two = (n) => String(n).padStart(2, "0");

export const GLYPHS = {
  pending: "○", running: "◐", ok: "✓", success: "✓", failed: "✕", interrupted: "‖", skipped: "–", checkpoint: "◇",
  "needs-auth": "!", "needs-approval": "?", rejected: "✕",
};

export const glyph = (status) => GLYPHS[status] || "•";

// The class of a status: statuses come from files and are not all known.
export const tone = (status) => (Object.hasOwn(GLYPHS, status) ? "s-" + status : "s-other");

// el("p", {class: "a", onclick: f}, "text", child …)
export function el(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value == null || value === false) continue;
    if (key.startsWith("on")) made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

export const $ = (id) => document.getElementById(id);

export function say(text) {
  $("live").textContent = text;
}

export async function get(path) {
  const answer = await fetch(path, { headers: { accept: "application/json" } });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}

export const runPath = (run) => `/api/run/${encodeURIComponent(run)}`;
