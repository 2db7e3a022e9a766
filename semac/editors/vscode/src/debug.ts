// Debugging through debugpy: .sema files are run as `python -m semac FILE`, whose code has their lines.

import * as path from "node:path";
import * as vscode from "vscode";
import { findPython, said } from "./python";

const OURS = ["semac", "sema_runtime"]; // stepping passes over these
type Configuration = vscode.DebugConfiguration;

export class Configurations implements vscode.DebugConfigurationProvider {
  provideDebugConfigurations(): Configuration[] {
    return [{ type: "sema", request: "launch", name: "Sema file", program: "${file}" }];
  }

  /** Fills in what a launch without launch.json lacks. */
  resolveDebugConfiguration(_folder: vscode.WorkspaceFolder | undefined, given: Configuration): Configuration | undefined {
    if (given.type || given.request) return given;
    const editor = vscode.window.activeTextEditor;
    if (editor?.document.languageId !== "sema") {
      void vscode.window.showErrorMessage("Sema: open the .sema file that is to be debugged.");
      return undefined;
    }
    return { type: "sema", request: "launch", name: "Sema file", program: "${file}" };
  }

  async resolveDebugConfigurationWithSubstitutedVariables(
    folder: vscode.WorkspaceFolder | undefined,
    given: Configuration,
  ): Promise<Configuration | undefined> {
    const python = given.python || (await findPython(folder?.uri))?.path;
    if (!python) return undefined;
    const rules = OURS.map((module) => ({ module, include: false }));
    const settings: Configuration = { justMyCode: true, rules, ...given, python };
    if (given.request === "attach") return settings;
    if (!given.program && !given.module) {
      void vscode.window.showErrorMessage("Sema: the launch configuration needs \"program\", the .sema file.");
      return undefined;
    }
    const args: string[] = given.args ?? [];
    if (given.program && !String(given.program).endsWith(".py")) {
      delete settings.program;
      settings.module = "semac";
      settings.args = [given.program, ...(args.length ? ["--", ...args] : [])];
    }
    settings.console ??= "integratedTerminal";
    settings.cwd ??= folder?.uri.fsPath ?? (given.program && path.dirname(given.program));
    return settings;
  }
}

export class Adapters implements vscode.DebugAdapterDescriptorFactory {
  async createDebugAdapterDescriptor(session: vscode.DebugSession): Promise<vscode.DebugAdapterDescriptor> {
    const { python, connect, request } = session.configuration;
    if (request === "attach" && connect?.port) return new vscode.DebugAdapterServer(connect.port, connect.host ?? "127.0.0.1");
    if ((await said(python, "import debugpy")) === undefined) {
      throw new Error(`debugging needs debugpy: ${python} -m pip install debugpy`);
    }
    return new vscode.DebugAdapterExecutable(python, ["-P", "-m", "debugpy.adapter"]);
  }
}
