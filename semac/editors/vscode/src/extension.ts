// Sema for VS Code: the language server's client, runs, the REPL, debugging, tests.

import * as path from "node:path";
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, SelectionRangeRequest, type ServerOptions } from "vscode-languageclient/node";
import { Adapters, Configurations } from "./debug";
import { findPython } from "./python";
import { type EvalResult, Results } from "./results";
import { registerTests } from "./tests";

let client: LanguageClient | undefined;
let repl: vscode.Terminal | undefined;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const results = new Results();
  const command = (name: string, action: () => unknown): vscode.Disposable => vscode.commands.registerCommand(`sema.${name}`, action);
  context.subscriptions.push(
    results,
    command("runFile", runFile),
    command("debugFile", debugFile),
    command("repl", startRepl),
    command("sendToRepl", sendToRepl),
    command("clearResults", () => results.clear()),
    command("restart", () => restart(results)),
    vscode.debug.registerDebugConfigurationProvider("sema", new Configurations()),
    vscode.debug.registerDebugConfigurationProvider("sema", new Configurations(), vscode.DebugConfigurationProviderTriggerKind.Dynamic),
    vscode.debug.registerDebugAdapterDescriptorFactory("sema", new Adapters()),
    vscode.window.onDidCloseTerminal((closed) => {
      if (closed === repl) repl = undefined;
    }),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("sema.python") && restart(results)),
  );
  registerTests(context);
  await start(results);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

async function start(results: Results): Promise<void> {
  const python = await findPython(vscode.workspace.workspaceFolders?.[0]?.uri);
  if (!python) return;
  // -P: no module of the open folder stands in for one of Python's
  const server: ServerOptions = { command: python.path, args: ["-P", "-m", "semac.cli", "lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [{ language: "sema" }],
    initializationOptions: { snippets: false }, // the extension has them
    outputChannelName: "Sema",
  };
  client = new LanguageClient("sema", "Sema", server, options);
  client.onNotification("sema/evalResult", (result: EvalResult) => results.take(result));
  await client.start();
}

async function restart(results: Results): Promise<void> {
  const old = client;
  client = undefined;
  await old?.dispose();
  await start(results);
}

/** The file that a command is about, saved. */
async function savedFile(): Promise<vscode.Uri | undefined> {
  const document = vscode.window.activeTextEditor?.document;
  if (document?.languageId !== "sema") {
    void vscode.window.showErrorMessage("Sema: no .sema file is open in the active editor.");
    return undefined;
  }
  if (!(await document.save()) || document.isUntitled) return undefined;
  return document.uri;
}

async function runFile(): Promise<void> {
  const file = await savedFile();
  const folder = file && vscode.workspace.getWorkspaceFolder(file);
  const python = file && (await findPython(folder?.uri));
  if (!file || !python) return;
  const cwd = folder?.uri.fsPath ?? path.dirname(file.fsPath);
  const execution = new vscode.ProcessExecution(python.path, ["-P", "-m", "semac", file.fsPath], { cwd });
  const name = path.basename(file.fsPath);
  const task = new vscode.Task({ type: "sema" }, folder ?? vscode.TaskScope.Workspace, name, "Sema", execution);
  task.presentationOptions = { clear: true, showReuseMessage: false, panel: vscode.TaskPanelKind.Dedicated };
  await vscode.tasks.executeTask(task);
}

async function debugFile(): Promise<void> {
  const file = await savedFile();
  if (!file) return;
  const configuration = { type: "sema", request: "launch", name: "Sema file", program: file.fsPath };
  await vscode.debug.startDebugging(vscode.workspace.getWorkspaceFolder(file), configuration);
}

async function startRepl(): Promise<vscode.Terminal | undefined> {
  if (!repl) {
    const python = await findPython(vscode.workspace.workspaceFolders?.[0]?.uri);
    if (!python) return undefined;
    repl = vscode.window.createTerminal({ name: "Sema", shellPath: python.path, shellArgs: ["-P", "-m", "semac.cli"] });
  }
  repl.show(true);
  return repl;
}

/** Sends the selection, or the top-level form at the cursor. */
async function sendToRepl(): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const terminal = editor && (await startRepl());
  if (!editor || !terminal) return;
  const chosen = editor.selection.isEmpty ? await formAt(editor) : editor.document.getText(editor.selection);
  if (chosen.trim()) terminal.sendText(chosen.replace(/\r?\n/g, "\n"), true);
}

/** The text of the top-level form at the cursor: the outermost selection that the server names. */
async function formAt(editor: vscode.TextEditor): Promise<string> {
  if (!client) return "";
  const position = { line: editor.selection.active.line, character: editor.selection.active.character };
  const textDocument = { uri: editor.document.uri.toString() };
  const [found] = await client.sendRequest(SelectionRangeRequest.type, { textDocument, positions: [position] }) ?? [];
  let outermost = found;
  while (outermost?.parent) outermost = outermost.parent;
  if (!outermost) return "";
  const { start, end } = outermost.range;
  return editor.document.getText(new vscode.Range(start.line, start.character, end.line, end.character));
}
