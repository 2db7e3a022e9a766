// The two editors: the program, and the Python that it becomes.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, indentOnInput } from "@codemirror/language";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import {
  EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap, lineNumbers,
} from "@codemirror/view";
import { colours, sema } from "./sema-mode.js";

const LETTERS = /[A-Za-z0-9_+\-*/!?<>=&%^~.#\u0080-\uffff]/;

// on: {change(), run(), complete(text, offset), describe(name)}, the latter two with promises
export function programEditor(parent, text, on) {
  const completions = async (context) => {
    const before = context.matchBefore(/[A-Za-z0-9_+\-*/!?<>=&%^~.#]+/);
    if (!context.explicit && (!before || before.text.length < 2)) return null;
    const found = await on.complete(context.state.doc.toString(), context.pos);
    if (!found?.options.length) return null;
    return {
      from: found.from,
      options: found.options.map(({ label, kind }) => ({ label, detail: kind })),
      validFor: /^[A-Za-z0-9_+\-*/!?<>=&%^~.#]*$/,
    };
  };
  const documentation = hoverTooltip(async (view, position) => {
    const line = view.state.doc.lineAt(position);
    let start = position, end = position;
    while (start > line.from && LETTERS.test(line.text[start - line.from - 1])) start--;
    while (end < line.to && LETTERS.test(line.text[end - line.from])) end++;
    const shown = start < end && (await on.describe(view.state.sliceDoc(start, end)));
    if (!shown) return null;
    const dom = document.createElement("pre");
    dom.className = "documentation";
    dom.textContent = shown.trim();
    return { pos: start, end, above: true, create: () => ({ dom }) };
  });
  return new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), history(), drawSelection(), lintGutter(),
        indentOnInput(), bracketMatching(), closeBrackets(), highlightSelectionMatches(), sema, colours, documentation,
        autocompletion({ override: [completions] }),
        keymap.of([
          { key: "Mod-Enter", run: () => { on.run(); return true; } },
          ...closeBracketsKeymap, ...completionKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab,
        ]),
        EditorView.updateListener.of((update) => { if (update.docChanged) on.change(); }),
        EditorView.contentAttributes.of({ "aria-label": "Sema program", spellcheck: "false" }),
      ],
    }),
  });
}

export function pythonView(parent) {
  return new EditorView({
    parent,
    state: EditorState.create({
      extensions: [
        lineNumbers(), drawSelection(), python(), colours, keymap.of([...searchKeymap, ...defaultKeymap]),
        EditorState.readOnly.of(true), EditorView.contentAttributes.of({ "aria-label": "Python" }),
      ],
    }),
  });
}

export function setText(view, text) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
}

// findings: [{line, column, end_line, end_column, severity, message, hint}], counted from 1
export function showFindings(view, findings) {
  const doc = view.state.doc;
  const offset = (line, column) => {
    const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
    return Math.min(at.from + Math.max(column - 1, 0), at.to);
  };
  const marks = findings.map((finding) => {
    const from = offset(finding.line, finding.column);
    const to = Math.max(offset(finding.end_line, finding.end_column), from);
    const message = finding.hint ? `${finding.message}\nhint: ${finding.hint}` : finding.message;
    return { from, to, severity: finding.severity === "warning" ? "warning" : "error", message };
  });
  view.dispatch(setDiagnostics(view.state, marks.sort((a, b) => a.from - b.from)));
}

export function goTo(view, line, column) {
  const at = view.state.doc.line(Math.min(line, view.state.doc.lines));
  view.dispatch({ selection: { anchor: Math.min(at.from + column - 1, at.to) }, scrollIntoView: true });
  view.focus();
}
