// Results of the lens Run: behind the form that was run, with all output in a channel.

import * as vscode from "vscode";

export interface EvalResult {
  uri: string;
  range: { start: vscode.Position; end: vscode.Position };
  value?: string | null;
  stdout: string;
  stderr: string;
  ok: boolean;
  error?: { message: string; hint?: string } | null;
  elapsedMs: number;
}

const MOST = 120; // characters behind a form

export class Results implements vscode.Disposable {
  private readonly shown = new Map<string, vscode.DecorationOptions[]>();
  private readonly style = vscode.window.createTextEditorDecorationType({ rangeBehavior: vscode.DecorationRangeBehavior.ClosedOpen });
  private readonly channel = vscode.window.createOutputChannel("Sema: Results");
  private readonly listeners: vscode.Disposable[];

  constructor() {
    this.listeners = [
      vscode.window.onDidChangeVisibleTextEditors(() => this.draw()),
      vscode.workspace.onDidChangeTextDocument((event) => event.contentChanges.length && this.clear(event.document.uri)),
    ];
  }

  /** Shows one result, in place of an older one of the same form. */
  take(result: EvalResult): void {
    const uri = vscode.Uri.parse(result.uri).toString();
    const { start, end } = result.range;
    const range = new vscode.Range(start.line, start.character, end.line, end.character);
    const failed = result.error?.message ?? "failed";
    const text = result.ok ? `⇒ ${result.value ?? "nil"}` : `✗ ${failed}`;
    const after = {
      contentText: "  " + shortened(text),
      color: new vscode.ThemeColor(result.ok ? "editorCodeLens.foreground" : "editorError.foreground"),
    };
    const others = (this.shown.get(uri) ?? []).filter((other) => !other.range.isEqual(range));
    this.shown.set(uri, [...others, { range, hoverMessage: details(result, text), renderOptions: { after } }]);
    this.channel.appendLine(`${vscode.workspace.asRelativePath(vscode.Uri.parse(uri))}:${start.line + 1} (${result.elapsedMs} ms)`);
    for (const part of [result.stdout, result.stderr, text, result.error?.hint && `  hint: ${result.error.hint}`]) {
      if (part) this.channel.appendLine(part.replace(/\n$/, ""));
    }
    if (result.stdout || result.stderr || !result.ok) this.channel.show(true);
    this.draw();
  }

  /** Forgets the results of a document, or all. */
  clear(uri?: vscode.Uri): void {
    if (uri) this.shown.delete(uri.toString());
    else this.shown.clear();
    this.draw();
  }

  private draw(): void {
    for (const editor of vscode.window.visibleTextEditors) {
      editor.setDecorations(this.style, this.shown.get(editor.document.uri.toString()) ?? []);
    }
  }

  dispose(): void {
    for (const part of [...this.listeners, this.style, this.channel]) part.dispose();
  }
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ");
  return line.length > MOST ? line.slice(0, MOST) + "…" : line;
}

function details(result: EvalResult, text: string): vscode.MarkdownString {
  const shown = new vscode.MarkdownString();
  shown.appendCodeblock([result.stdout, result.stderr, text].filter(Boolean).join("\n"), "text");
  return shown;
}
