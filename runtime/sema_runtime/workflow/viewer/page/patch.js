// Brings what is shown up to date in place: elements stay the same ones, so that a press, the focus, a selection of text,
// scrolling and what somebody has opened or typed survive.

const THEIRS = { DETAILS: ["open"], INPUT: ["value", "checked"] }; // attributes that belong to who uses the page
const HANDLERS = ["onclick"];

// Makes the children of an element like those given, which may be null or text. A child with data-key stays with its key.
export function patch(host, children) {
  const keyed = new Map();
  for (const child of host.children) if (child.dataset.key !== undefined) keyed.set(child.dataset.key, child);
  let at = host.firstChild;
  for (const made of children) {
    if (made == null) continue;
    const wanted = made instanceof Node ? made : document.createTextNode(made);
    const key = keyOf(wanted);
    let old = key === undefined ? at : keyed.get(key);
    while (key === undefined && old && keyOf(old) !== undefined) old = old.nextSibling;
    if (!old || !alike(old, wanted)) host.insertBefore(wanted, at);
    else {
      if (old === at) at = at.nextSibling;
      else host.insertBefore(old, at);
      if (old !== wanted) update(old, wanted);
    }
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

const keyOf = (node) => (node.dataset ? node.dataset.key : undefined);
const alike = (old, made) => old.nodeType === made.nodeType && old.nodeName === made.nodeName;

function update(old, made) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== made.data) old.data = made.data;
    return;
  }
  const theirs = THEIRS[old.nodeName] || [];
  for (const { name } of [...old.attributes]) if (!made.hasAttribute(name) && !theirs.includes(name)) old.removeAttribute(name);
  for (const { name, value } of made.attributes) {
    if (name === "style") old.style.cssText = made.style.cssText; // as an attribute the page's policy forbids it
    else if (old.getAttribute(name) !== value && !theirs.includes(name)) old.setAttribute(name, value);
  }
  for (const name of HANDLERS) old[name] = made[name];
  patch(old, [...made.childNodes]);
}
