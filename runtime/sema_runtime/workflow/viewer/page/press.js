// Buttons, links and what opens and closes: a press counts for what it was on, though it may have moved away under a
// still pointer before the release. (Rows of lists see to that themselves.)

export const STILL = 6; // pixels that a pointer may move between press and release

export const isStill = (pressed, event) => Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) <= STILL;

let pressed = null;
addEventListener("pointerdown", (event) => {
  const on = event.button || !event.isPrimary ? null : event.target.closest("button, a, summary");
  pressed = on && { on, x: event.clientX, y: event.clientY };
}, true);
addEventListener("pointercancel", () => (pressed = null));
addEventListener("pointerup", (event) => {
  const was = pressed;
  pressed = null;
  if (was && isStill(was, event) && was.on.isConnected && !was.on.contains(event.target)) was.on.click();
}, true);
