// The MCP servers that a run declares, and where their logins stand.

import { patch } from "./patch.js";
import { $, el, get, runPath, say } from "./format.js";

const TEXTS = {
  open: "no login needed", "needs-consent": "needs a login", authorized: "logged in", expired: "login expired",
  failed: "login failed", connecting: "logging in …",
};
const TONES = { open: "s-ok", authorized: "s-ok", "needs-consent": "s-needs-auth", expired: "s-needs-auth", failed: "s-failed", connecting: "s-running" };

export class Servers {
  constructor() {
    this.token = document.querySelector('meta[name="sema-view-token"]').content;
    this.reset(null);
  }

  reset(run) {
    this.run = run;
    this.rows = [];
    clearTimeout(this.waiting);
    this.draw();
  }

  async load() {
    const run = this.run;
    const rows = await get(`${runPath(run)}/auth`).catch(() => []);
    if (run !== this.run) return;
    if (JSON.stringify(rows) !== JSON.stringify(this.rows)) {
      this.rows = rows;
      this.draw();
    }
    clearTimeout(this.waiting);
    if (rows.some((row) => row.status === "connecting")) this.waiting = setTimeout(() => this.load(), 1000);
  }

  async act(row, action) {
    const path = `${runPath(this.run)}/auth/${encodeURIComponent(row.alias)}/${action}`;
    const answer = await fetch(path, { method: "POST", headers: { "X-Sema-View-Token": this.token } });
    const { error } = answer.ok ? {} : await answer.json().catch(() => ({}));
    say(`${row.alias}: ${answer.ok ? (action === "connect" ? "logging in" : "forgotten") : error || "refused"}`);
    await this.load();
  }

  draw() {
    const waiting = this.rows.filter((row) => row.status === "needs-consent" || row.status === "expired").length;
    $("tab-auth").hidden = !this.rows.length;
    $("tab-auth").textContent = waiting ? `Servers (${waiting})` : "Servers";
    patch($("auth"), this.rows.map((row) => this.server(row)));
  }

  server(row) {
    const can = row.url && (row.needs_auth || row.status !== "open");
    const button = (label, action) => el("button", { type: "button", "aria-label": `${label} ${row.alias}`, onclick: () => this.act(row, action) }, label);
    return el("article", { class: "server", "data-key": row.alias },
      el("h3", {}, el("span", { class: "mono" }, row.alias), el("span", { class: "pill " + (TONES[row.status] || "s-other") }, TEXTS[row.status] || row.status)),
      el("p", { class: "mono soft" }, row.url || row.command || ""),
      row.reason ? el("p", { class: "bad" }, row.reason) : null,
      row.scopes ? el("p", {}, "Scopes: ", row.scopes.join(", ")) : null,
      el("p", {}, row.tools.length ? `Tools: ${row.tools.join(", ")}` : "All its tools"),
      row.expires_at ? el("p", { class: "soft" }, `until ${new Date(row.expires_at * 1000).toLocaleString()}`) : null,
      can ? el("p", {}, row.status === "authorized" ? button("Forget", "forget") : row.status === "connecting" ? null : button("Log in", "connect")) : null);
  }
}
