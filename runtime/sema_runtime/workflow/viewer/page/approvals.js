// What a run wants to have approved, and, where the viewer has a key, the decision.

import { patch } from "./patch.js";
import { $, el, get, moment, runPath, say } from "./format.js";

const TONES = { pending: "s-needs-approval", approved: "s-ok", rejected: "s-failed" };

export class Approvals {
  constructor() {
    this.token = document.querySelector('meta[name="sema-view-token"]').content;
    this.reset(null);
  }

  reset(run) {
    this.run = run;
    this.found = { can_decide: false, approvals: [] };
    this.draw();
  }

  async load() {
    const run = this.run;
    const found = await get(`${runPath(run)}/approvals`).catch(() => this.found);
    if (run !== this.run || JSON.stringify(found) === JSON.stringify(this.found)) return;
    this.found = found;
    this.draw();
  }

  async decide(approval, verdict, reason) {
    const path = `${runPath(this.run)}/approvals/${encodeURIComponent(approval.approval_id)}/${verdict}`;
    const answer = await fetch(path, {
      method: "POST", headers: { "X-Sema-View-Token": this.token, "content-type": "application/json" },
      body: JSON.stringify(verdict === "reject" ? { reason } : { comment: reason }),
    });
    const text = await answer.json().catch(() => ({ error: "refused" }));
    this.problem = answer.ok ? null : { of: approval.approval_id, text: text.error };
    say(answer.ok ? `${approval.key}: ${text.status}` : text.error);
    this.found = {};
    await this.load();
  }

  draw() {
    const { approvals = [], error } = this.found;
    const pending = approvals.filter((one) => one.status === "pending").length;
    $("tab-approvals").hidden = !approvals.length && !error;
    $("tab-approvals").textContent = pending ? `Approvals (${pending})` : "Approvals";
    patch($("approvals"), [error ? el("p", { class: "notice" }, error) : null, ...approvals.map((one) => this.card(one))]);
  }

  card(approval) {
    const decision = approval.decision;
    const failed = this.problem && this.problem.of === approval.approval_id ? this.problem.text : null;
    return el("article", { class: "server", "data-key": approval.approval_id },
      el("h3", {}, el("span", { class: "mono" }, approval.key), el("span", { class: "pill " + (TONES[approval.status] || "s-other") }, approval.status)),
      el("p", {}, approval.reason),
      approval.preview ? el("pre", {}, approval.preview) : null,
      el("p", { class: "soft" }, `${approval.phase ? approval.phase + ", " : ""}asked ${moment(approval.requested_at)}`),
      el("p", { class: "mono soft" }, approval.approval_id),
      decision ? el("p", {}, `${approval.status} by ${decision.actor}, ${moment(decision.decided_at)}`, decision.reason ? `: ${decision.reason}` : "", decision.comment ? `: ${decision.comment}` : "") : null,
      failed ? el("p", { class: "bad" }, failed) : null,
      !decision && this.found.can_decide ? this.controls(approval) : null);
  }

  controls(approval) {
    const reason = el("input", { type: "text", "aria-label": `Reason or comment for ${approval.key}`, placeholder: "Reason or comment", maxlength: 1024 });
    const button = (label, verdict) => el("button", { type: "button", "aria-label": `${label} ${approval.key}`, onclick: () => this.decide(approval, verdict, reason.value) }, label);
    return el("p", { class: "controls" }, reason, button("Approve", "approve"), button("Reject", "reject"));
  }
}
