// Walks through the extension in a real VS Code: node vscode_walk.mjs FOLDER_OF_PLAYWRIGHT URL PROJECT FOLDER_FOR_PICTURES
// Prints what it has seen, one line a step; the URL is that of a VS Code server with the extension installed.

import { createRequire } from "node:module";
import path from "node:path";

const [modules, url, project, pictures] = process.argv.slice(2);
const { chromium } = createRequire(path.join(modules, "node_modules", "x.js"))("playwright-core");
const quiet = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: quiet });
const page = await browser.newPage({ viewport: { width: 1300, height: 800 } });
page.setDefaultTimeout(120_000);
const say = async (step) => {
  if (pictures) await page.screenshot({ path: path.join(pictures, `${step.split(":")[0]}.png`) });
  console.log(step);
};

async function open(name) {
  await page.keyboard.press("Control+P");
  await page.locator(".quick-input-widget input[type=text]").fill(name);
  await page.locator(`.quick-input-list .monaco-list-row.focused[aria-label^="${name}"]`).first().waitFor();
  await page.keyboard.press("Enter");
  await page.locator(`.tab.active:has-text("${name}")`).waitFor();
}

async function command(name) {
  await page.keyboard.press("F1");
  await page.locator(".quick-input-widget input[type=text]").fill(">" + name);
  await page.locator(`.quick-input-list .monaco-list-row.focused[aria-label*="${name}"]`).first().waitFor();
  await page.keyboard.press("Enter");
}

try {
  await page.goto(`${url}/?folder=${project}`);
  await page.locator(".explorer-folders-view").waitFor();
  await page.getByText("Yes, I trust the authors").click({ timeout: 10_000 }).catch(() => {});

  await open("prog.sema");
  await page.locator("a:has-text('▶ Run')").first().click();
  await page.locator(".view-line:has-text('(double 21)')").first().waitFor();
  await page.waitForFunction(() => [...document.querySelectorAll("[class*=ced-]")].some((part) => getComputedStyle(part, "::after").content.includes("42")));
  await say("lens: ⇒ 42");

  await open("bad.sema");
  await page.locator(".squiggly-error").first().waitFor();
  await say("diagnostics: an error is underlined");

  await open("prog.sema");
  await command("Sema: Run File");
  await page.locator(".single-terminal-tab:has-text('prog.sema')").waitFor();
  await page.locator(".single-terminal-tab .codicon-check, .single-terminal-tab + * .codicon-check, .panel .codicon-check").first().waitFor();
  await say("run: the task has succeeded");

  await page.locator(".view-line:has-text('doubling')").first().click();
  await page.keyboard.press("F9");
  await page.keyboard.press("F5");
  await page.locator(".debug-top-stack-frame-line, .debug-top-stack-frame-column").first().waitFor({ state: "attached" });
  await page.locator(".debug-variables .monaco-list-row:has-text('twice')").first().waitFor();
  await say(`debug: ${await page.locator(".debug-variables .monaco-list-row:has-text('twice')").first().innerText()}`.replace(/\s+/g, " "));
  await page.keyboard.press("Shift+F5");
  await page.locator(".debug-toolbar").waitFor({ state: "hidden" });

  await open("agent.sema");
  await page.locator(".view-line:has-text('string-upcase')").first().click();
  await page.keyboard.press("F9");
  await page.keyboard.press("F5");
  await page.locator(".debug-variables .monaco-list-row:has-text('city')").first().waitFor();
  await say(`agent: ${await page.locator(".debug-variables .monaco-list-row:has-text('city')").first().innerText()}`.replace(/\s+/g, " "));
  await page.keyboard.press("Shift+F5");
  await page.locator(".debug-toolbar").waitFor({ state: "hidden" });

  await command("Test: Run All Tests");
  await command("Testing: Focus on Test Explorer View");
  await page.getByText("1/2", { exact: true }).first().waitFor();
  await page.locator("text=1 failed").first().waitFor();
  await say("tests: 1/2");
} catch (error) {
  await say("error: " + String(error).split("\n").slice(0, 4).join(" "));
  process.exitCode = 1;
}
await browser.close();
