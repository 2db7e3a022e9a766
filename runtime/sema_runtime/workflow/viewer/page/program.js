// A program in Sema with its parts in colours: a list of lines, each text put in as text.

import { el } from "./format.js";

const TOKEN = /(?<comment>;[^\n]*)|(?<string>"(?:[^"\\]|\\[^])*(?:"|$)|#\\(?:[a-zA-Z]+|[^]))|(?<keyword>:[^\s()[\]{}'`",@;]+)|(?<number>[-+]?\d[\w./+-]*(?=[\s()[\]{}]|$))|(?<form>(?<=\()(?:define|defn|defmacro|defun|fn|lambda|let\*?|letrec|if|when|unless|cond|case|match|do|begin|try|catch|throw|set!|and|or|->>?|for-each|return|fail|async)(?=[\s()[\]{}]))|(?<bracket>[()[\]{}])/g;

export function program(source) {
  const lines = [el("li", {})];
  const add = (kind, text) => text.split("\n").forEach((part, number) => {
    if (number) lines.push(el("li", {}));
    if (part) lines[lines.length - 1].append(kind ? el("span", { class: `p-${kind}` }, part) : part);
  });
  let at = 0;
  for (const match of source.matchAll(TOKEN)) {
    add("", source.slice(at, match.index));
    add(Object.keys(match.groups).find((kind) => match.groups[kind] !== undefined), match[0]);
    at = match.index + match[0].length;
  }
  add("", source.slice(at));
  return el("ol", { class: "program" }, ...lines);
}
