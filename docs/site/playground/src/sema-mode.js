// Sema for CodeMirror: tokens, indentation, brackets.
import { HighlightStyle, LanguageSupport, StreamLanguage, indentService, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";
import names from "./names.json";

const NAME = /^[A-Za-z0-9_+\-*/!?<>=&%^~.#\u0080-\u{10ffff}]+/u;
const NUMBER = /^(?:#[xXbBoOdDeEiI])*[+-]?(?:\d+\/\d+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)(?:[+-][\d.]*i)?(?![A-Za-z0-9_+\-*/!?<>=&%^~.#])/;
const FORMS = new Set(names.forms);
const BUILTINS = new Set(names.builtins);
const CONSTANTS = new Set(["true", "false", "nil", "inf", "-inf", "nan", "#t", "#f"]);
const BODY = /^(?:def|let|fn$|lambda$|do|when|unless|while|for|try|catch|match|case$|with|begin$|if-let|async$|module$|go$)/;

// Strings of three kinds may span lines; what stands in ${...} of an f-string is code.
function inString(stream, state) {
  const kind = state.strings[state.strings.length - 1].kind;
  while (!stream.eol()) {
    const char = stream.next();
    if (char === "\\") stream.next();
    else if (char === '"') { state.strings.pop(); return kind; }
    else if (char === "$" && kind === "f-string" && stream.eat("{")) {
      state.strings[state.strings.length - 1].depth = 1;
      return kind;
    }
  }
  return kind;
}

function token(stream, state) {
  const around = state.strings[state.strings.length - 1];
  if (around && !around.depth) return STYLES[inString(stream, state)];
  if (stream.eatSpace()) return null;
  if (stream.match(/^;.*/) || (stream.pos === 0 && stream.match(/^#!.*/))) return "comment";
  const opening = stream.match(/^(f|#)?"/);
  if (opening) {
    state.strings.push({ kind: opening[1] === "f" ? "f-string" : opening[1] ? "regex" : "string", depth: 0 });
    return STYLES[inString(stream, state)];
  }
  if (stream.match(/^#\\(?:space|newline|tab|return|nul|.)/u)) return "character";
  if (stream.match(NUMBER)) return "number";
  if (stream.eat(":")) { stream.match(NAME); return "atom"; }
  if (stream.match(/^,@|^['`,@]/)) return "operator";
  const bracket = stream.eat(/[()[\]{}]/);
  if (bracket) {
    if (around) around.depth += bracket === "{" ? 1 : bracket === "}" ? -1 : 0;
    state.head = bracket === "(";
    return "bracket";
  }
  const name = stream.match(NAME)?.[0];
  if (name === undefined) { stream.next(); return null; }
  const isHead = state.head;
  state.head = false;
  if (state.defines) { state.defines = false; return "definition"; }
  if (CONSTANTS.has(name)) return "bool";
  if (FORMS.has(name)) { state.defines = isHead && name.startsWith("def"); return "keyword"; }
  return BUILTINS.has(name) ? "builtin" : "variableName";
}

const STYLES = { string: "string", "f-string": "string", regex: "regexp" };

export const semaLanguage = StreamLanguage.define({
  name: "sema",
  startState: () => ({ strings: [], head: false, defines: false }),
  copyState: (state) => ({ ...state, strings: state.strings.map((entry) => ({ ...entry })) }),
  token,
  tokenTable: {
    atom: tags.atom,
    bool: tags.bool,
    bracket: tags.bracket,
    builtin: tags.standard(tags.variableName),
    character: tags.character,
    definition: tags.definition(tags.variableName),
  },
  languageData: {
    commentTokens: { line: ";" },
    closeBrackets: { brackets: ["(", "[", "{", '"'] },
    wordChars: "+-*/!?<>=&%^~.#",
  },
});

// The brackets that are open at the end of a text, outside of strings and comments.
export function openBrackets(text) {
  const open = [];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === ";") at = (text.indexOf("\n", at) + 1 || text.length + 1) - 1;
    else if (char === "#" && text[at + 1] === "\\") at += 2;
    else if (char === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++;
      if (at >= text.length) return null;
    } else if ("([{".includes(char)) open.push(at);
    else if (")]}".includes(char)) open.pop();
  }
  return open;
}

// Two columns in bodies, else below the first argument or item; as the REPL indents.
const indentation = indentService.of((context, position) => {
  const text = context.state.sliceDoc(0, context.lineAt(position, -1).from);
  const open = openBrackets(text);
  if (open === null) return null;
  if (!open.length) return 0;
  const at = open[open.length - 1];
  const column = at - (text.lastIndexOf("\n", at) + 1);
  if (text[at] !== "(") return column + 1;
  const rest = text.slice(at + 1).split("\n", 1)[0];
  const head = NAME.exec(rest)?.[0];
  if (!head) return column + 1;
  const argument = /^\s+(?=\S)/.exec(rest.slice(head.length));
  return BODY.test(head) || !argument ? column + 2 : column + 1 + head.length + argument[0].length;
});

export const sema = new LanguageSupport(semaLanguage, [indentation]);

const colour = (name) => `var(--code-${name})`;
export const colours = syntaxHighlighting(HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword, tags.definitionKeyword, tags.moduleKeyword], color: colour("keyword") },
  { tag: tags.comment, color: colour("comment"), fontStyle: "italic" },
  { tag: [tags.string, tags.character, tags.special(tags.string)], color: colour("string") },
  { tag: tags.regexp, color: colour("regexp") },
  { tag: [tags.number, tags.bool, tags.null], color: colour("number") },
  { tag: tags.atom, color: colour("atom") },
  { tag: [tags.definition(tags.variableName), tags.function(tags.definition(tags.variableName))], color: colour("definition"), fontWeight: "600" },
  { tag: [tags.standard(tags.variableName), tags.function(tags.variableName)], color: colour("builtin") },
  { tag: [tags.bracket, tags.punctuation, tags.operator], color: colour("bracket") },
]));
