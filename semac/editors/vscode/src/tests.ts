// The test explorer: tests of test_*.sema files, found and run by `sema test`.

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import { findPython } from "./python";

const PATTERN = "**/test[_-]*.sema";
const HIDDEN = "**/{node_modules,.venv,venv,__pycache__}/**";
const DEFINITION = /^\s*\((deftest|defproperty)\s+([^\s()[\]{}"]+)/;

export function registerTests(context: vscode.ExtensionContext): vscode.TestController {
  const controller = vscode.tests.createTestController("sema", "Sema");
  const watcher = vscode.workspace.createFileSystemWatcher(PATTERN);
  controller.resolveHandler = (item) => (item?.uri ? readTests(controller, item.uri) : findAll(controller));
  controller.refreshHandler = () => findAll(controller);
  context.subscriptions.push(
    controller,
    watcher,
    watcher.onDidCreate((uri) => readTests(controller, uri)),
    watcher.onDidChange((uri) => readTests(controller, uri)),
    watcher.onDidDelete((uri) => controller.items.delete(uri.toString())),
    vscode.workspace.onDidOpenTextDocument((document) => isTestFile(document.uri) && readTests(controller, document.uri)),
  );
  controller.createRunProfile("Run", vscode.TestRunProfileKind.Run, (request, token) => run(controller, request, token), true);
  controller.createRunProfile("Debug", vscode.TestRunProfileKind.Debug, (request) => debug(controller, request), true);
  void findAll(controller);
  return controller;
}

function isTestFile(uri: vscode.Uri): boolean {
  return uri.scheme === "file" && /^test[_-].*\.sema$/.test(path.basename(uri.fsPath));
}

async function findAll(controller: vscode.TestController): Promise<void> {
  const files = await vscode.workspace.findFiles(PATTERN, HIDDEN);
  await Promise.all(files.map((file) => readTests(controller, file)));
}

/** Enters the tests that a file defines. */
async function readTests(controller: vscode.TestController, uri: vscode.Uri): Promise<void> {
  let text: string;
  try {
    text = Buffer.from(await vscode.workspace.fs.readFile(uri)).toString("utf8");
  } catch {
    controller.items.delete(uri.toString());
    return;
  }
  const file = controller.items.get(uri.toString()) ?? controller.createTestItem(uri.toString(), path.basename(uri.fsPath), uri);
  file.canResolveChildren = true;
  const lines = text.split("\n");
  const starts = lines.flatMap((line, index) => (DEFINITION.test(line) ? [index] : []));
  const items = starts.map((start, at) => {
    const name = DEFINITION.exec(lines[start])![2];
    const item = controller.createTestItem(`${uri}::${name}`, name, uri);
    const last = (starts[at + 1] ?? lines.length) - 1;
    item.range = new vscode.Range(start, 0, last, lines[last].length);
    return item;
  });
  file.children.replace(items);
  controller.items.add(file);
}

/** (file, arguments for pytest) of what was asked for; all tests where nothing was. */
function chosen(controller: vscode.TestController, request: vscode.TestRunRequest): vscode.TestItem[] {
  const roots: vscode.TestItem[] = [];
  if (request.include) roots.push(...request.include);
  else controller.items.forEach((item) => roots.push(item));
  const tests: vscode.TestItem[] = [];
  const add = (item: vscode.TestItem): void => {
    if (request.exclude?.includes(item)) return;
    if (item.children.size) item.children.forEach(add);
    else tests.push(item);
  };
  roots.forEach(add);
  return tests;
}

/** What pytest runs for a test: a file as a whole where the Python name of the test isn't plain to see. */
function pytestId(item: vscode.TestItem): string {
  const [, name] = item.id.split("::");
  const plain = name && /^[\w/-]+$/.test(name);
  return plain ? `${item.uri!.fsPath}::test_${name.replace(/^test-/, "").replace(/[-/]/g, "_")}` : item.uri!.fsPath;
}

async function run(controller: vscode.TestController, request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
  const items = chosen(controller, request);
  const session = controller.createTestRun(request);
  items.forEach((item) => session.started(item));
  try {
    await runInFolder(session, items, token);
  } catch (error) {
    items.forEach((item) => session.errored(item, new vscode.TestMessage(String(error))));
  }
  session.end();
}

async function runInFolder(session: vscode.TestRun, items: vscode.TestItem[], token: vscode.CancellationToken): Promise<void> {
  const first = items[0]?.uri;
  const folder = first && vscode.workspace.getWorkspaceFolder(first);
  const python = first && (await findPython(folder?.uri));
  if (!python || !first) return;
  const scratch = await mkdtemp(path.join(tmpdir(), "sema-tests-"));
  const report = path.join(scratch, "report.xml");
  const options = ["--junitxml", report, "-o", "junit_family=xunit1", "--color=yes"];
  const args = ["-P", "-m", "semac.cli", "test", ...options, ...new Set(items.map(pytestId))];
  const cwd = folder?.uri.fsPath ?? path.dirname(first.fsPath);
  const output = await outputOf(python.path, args, cwd, session, token);
  const cases = await readFile(report, "utf8").then(readReport, () => []);
  await rm(scratch, { recursive: true, force: true });
  for (const item of items) tell(session, item, cases, output);
}

/** Runs a command, with its output in the run; returns the output. */
function outputOf(command: string, args: string[], cwd: string, session: vscode.TestRun, token: vscode.CancellationToken): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd });
    token.onCancellationRequested(() => child.kill("SIGINT"));
    let output = "";
    const take = (data: Buffer): void => {
      output += data.toString();
      session.appendOutput(data.toString().replace(/\r?\n/g, "\r\n"));
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("error", reject);
    child.on("close", () => resolve(output));
  });
}

interface Case {
  file: string;
  line: number; // from 0, where the test is defined
  seconds: number;
  outcome: "passed" | "failed" | "skipped";
  message: string;
}

/** The cases of a report that pytest has written. */
export function readReport(xml: string): Case[] {
  const cases: Case[] = [];
  for (const [, attributes, , body = ""] of xml.matchAll(/<testcase\b([^>]*?)(\/>|>([\s\S]*?)<\/testcase>)/g)) {
    const attribute = (name: string): string => decoded(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "");
    const failure = /<(?:failure|error)\b[^>]*>([\s\S]*?)<\/(?:failure|error)>/.exec(body);
    cases.push({
      file: attribute("file"),
      line: Number(attribute("line") || NaN),
      seconds: Number(attribute("time")),
      outcome: failure ? "failed" : /<skipped\b/.test(body) ? "skipped" : "passed",
      message: decoded(failure?.[1] ?? ""),
    });
  }
  return cases;
}

function decoded(text: string): string {
  const named: Record<string, string> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
  const point = (code: string): string => String.fromCodePoint(Number(code.replace("#x", "0x").replace("#", "")));
  return text.replace(/&(#x?[0-9a-fA-F]+|\w+);/g, (whole, code: string) => (code[0] === "#" ? point(code) : named[code] ?? whole));
}

/** Reports what became of one test: a parametrised one has a case for each row. */
function tell(session: vscode.TestRun, item: vscode.TestItem, cases: Case[], output: string): void {
  const { start, end } = item.range ?? new vscode.Range(0, 0, Number.MAX_SAFE_INTEGER, 0);
  const isOwn = (one: Case): boolean => path.basename(one.file) === path.basename(item.uri!.fsPath) && one.line >= start.line && one.line <= end.line;
  const own = cases.filter(isOwn);
  const milliseconds = own.reduce((sum, one) => sum + one.seconds, 0) * 1000;
  const failed = own.filter((one) => one.outcome === "failed");
  const broken = cases.find((one) => Number.isNaN(one.line) && one.outcome === "failed"); // the file can't be loaded
  if (!own.length) session.errored(item, broken ? message(item, broken) : new vscode.TestMessage(output.trim() || "pytest said nothing"));
  else if (failed.length) session.failed(item, failed.map((one) => message(item, one)), milliseconds);
  else if (own.every((one) => one.outcome === "skipped")) session.skipped(item);
  else session.passed(item, milliseconds);
}

function message(item: vscode.TestItem, failure: Case): vscode.TestMessage {
  const reasons = [...failure.message.matchAll(/^E {3}(.*)$/gm)].map((line) => line[1]);
  const shown = new vscode.TestMessage(reasons.join("\n") || failure.message);
  const place = /^(?:  --> )?\S*\.sema:(\d+):/m.exec(failure.message);
  const line = place ? Number(place[1]) - 1 : item.range?.start.line ?? 0;
  shown.location = new vscode.Location(item.uri!, new vscode.Position(Math.max(line, 0), 0));
  return shown;
}

async function debug(controller: vscode.TestController, request: vscode.TestRunRequest): Promise<void> {
  const items = chosen(controller, request);
  const folder = items[0] && vscode.workspace.getWorkspaceFolder(items[0].uri!);
  if (!items.length) return;
  await vscode.debug.startDebugging(folder, {
    type: "sema",
    request: "launch",
    name: "Sema tests",
    module: "semac.cli",
    args: ["test", "-p", "no:cacheprovider", ...new Set(items.map(pytestId))],
    console: "internalConsole",
  });
}
