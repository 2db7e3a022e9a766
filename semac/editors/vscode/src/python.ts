// The Python that has semac installed: of the settings, of the Python extension, of the folder, or of the PATH.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";

const LIMIT = 20_000; // milliseconds that an interpreter may take to say its version

export interface Interpreter {
  readonly path: string;
  readonly version: string; // of semac
}

/** The first interpreter that can import semac; none shows an error that says what to do. */
export async function findPython(folder?: vscode.Uri): Promise<Interpreter | undefined> {
  const tried: string[] = [];
  for await (const candidate of candidates(folder)) {
    if (tried.includes(candidate)) continue;
    tried.push(candidate);
    const version = await said(candidate, "import semac; print(semac.__version__)");
    if (version !== undefined) return { path: candidate, version };
  }
  void complain(tried);
  return undefined;
}

async function* candidates(folder?: vscode.Uri): AsyncGenerator<string> {
  const set = vscode.workspace.getConfiguration("sema", folder).get<string>("python");
  if (set) {
    yield expanded(set, folder);
    return;
  }
  const chosen = await ofPythonExtension(folder);
  if (chosen) yield chosen;
  for (const root of vscode.workspace.workspaceFolders ?? []) {
    for (const name of [".venv", "venv"]) {
      const file = path.join(root.uri.fsPath, name, ...(process.platform === "win32" ? ["Scripts", "python.exe"] : ["bin", "python"]));
      if (existsSync(file)) yield file;
    }
  }
  yield* process.platform === "win32" ? ["python", "py"] : ["python3", "python"];
}

function expanded(text: string, folder?: vscode.Uri): string {
  const root = folder?.fsPath ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  return text.replaceAll("${workspaceFolder}", root).replace(/^~(?=\/)/, process.env.HOME ?? "~");
}

async function ofPythonExtension(folder?: vscode.Uri): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension("ms-python.python");
  if (!extension) return undefined;
  try {
    const api = await extension.activate();
    const active = api?.environments?.getActiveEnvironmentPath?.(folder);
    const resolved = active && (await api.environments.resolveEnvironment(active));
    return resolved?.executable?.uri?.fsPath;
  } catch {
    return undefined; // another extension's trouble is not ours
  }
}

/** What an interpreter prints for a line of Python; undefined where it fails. */
export function said(python: string, code: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile(python, ["-P", "-c", code], { timeout: LIMIT }, (error, output) => resolve(error ? undefined : output.trim()));
  });
}

async function complain(tried: string[]): Promise<void> {
  const open = "Open Settings";
  const answer = await vscode.window.showErrorMessage(
    `Sema: no Python with semac was found (tried ${tried.join(", ")}). Install it with "pip install semac", or set sema.python.`,
    open,
  );
  if (answer === open) await vscode.commands.executeCommand("workbench.action.openSettings", "sema.python");
}
