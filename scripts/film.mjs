// Makes the film of the README: a scripted model of the coding-agent example works over MCP on a real server, and real
// screenshots show the way of its edit: it waits, a person approves, it has its effect, it is undone, the record is whole.
// Also the picture of the phone and of the terminal. `node scripts/film.mjs`
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { spawn as spawnOnTerminal } from "@lydell/node-pty";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { dynamicTool, generateText, isStepCount, jsonSchema } from "ai";
import Anser from "anser";
import { HAFT, show, signIn, takePicture, withDemo } from "./demo.mjs";
import { ROOT } from "./root.mjs";

const EXAMPLE = join(ROOT, "examples", "coding-agent");
const PROJECT = join(EXAMPLE, "project");
// It imports the built package, so the types of scripts do not know it.
const { model } = await import(pathToFileURL(join(EXAMPLE, "model.mjs")).href);
const FILES = {
  "cart.mjs": readFileSync(join(PROJECT, "cart.mjs"), "utf8"),
  "cart.test.mjs": readFileSync(join(PROJECT, "cart.test.mjs"), "utf8"),
  "haft.config.yml": "permissions:\n  allow: [Bash(node --test)]\n  ask: [Edit, Write]\n",
};
const FRAME = { width: 1120, height: 700 };
const PHONE = { width: 390, height: 760 };
const LANGUAGES = { "": "en-US", "-zh": "zh-CN" };

await withDemo("cart", FILES, async (demo) => {
  const { browser, url, runHaft } = demo;
  const shots = [];
  for (const [suffix, locale] of Object.entries(LANGUAGES)) {
    const context = await browser.newContext({ viewport: FRAME, locale });
    shots.push({ suffix, page: await signIn(context, runHaft("login").url) });
  }
  const frame = async (name, place, ready) => {
    for (const { suffix, page } of shots) {
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await show(page, url, place);
        await ready?.(page);
        await takePicture(page, `${name}${suffix}${colorScheme === "dark" ? "-dark" : ""}`);
      }
    }
  };

  const agent = runAgent(demo);
  const { id } = await waitFor(() => runHaft("approvals", "list").items?.[0]);
  await frame("film-1-asks", "/work");
  const isReady = async (page) => {
    await page.locator("article .diff-insert").first().waitFor();
    await page.locator("article button.primary:enabled").first().waitFor();
  };
  await frame("film-2-approve", `/approvals/${id}`, isReady);
  for (const { page } of shots) await page.setViewportSize(PHONE);
  await frame("phone", `/approvals/${id}`, isReady);
  for (const { page } of shots) await page.setViewportSize(FRAME);

  const [{ page }] = shots;
  await show(page, url, `/approvals/${id}`);
  await isReady(page);
  await page.locator("article button.primary:enabled").first().click();
  console.log(`agent: ${await agent}`);
  const { callId } = runHaft("approvals", "show", id);
  const isShown = async (page) => {
    await page.locator(".timeline-bar").first().waitFor();
    await page.locator(".diff-insert").first().waitFor();
  };
  await frame("film-3-effects", `/work/${callId}`, isShown);

  await show(page, url, `/work/${callId}`);
  await page.getByRole("button", { name: /^Undo/ }).first().click();
  await waitFor(() => readFileSync(join(demo.folder, "cart.mjs"), "utf8") === FILES["cart.mjs"]);
  await frame("film-4-undo", `/work/${callId}`, isShown);
  await frame("film-5-record", "/audit");

  const printed = await askAtTerminal(demo);
  for (const colorScheme of ["light", "dark"]) await drawTerminal(browser, printed, colorScheme);
});

/** The agent of the example: each tool of the server is one of the AI SDK. Nobody at this end answers questions. */
async function runAgent({ folder, env }) {
  const client = new Client({ name: "coding-agent", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  const args = [HAFT, "mcp", "--folder", folder, "--tools", "group:fs,exec"];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env }));
  const { tools } = await client.listTools();
  const toolSet = Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => {
      const schema = /** @type {import("ai").JSONSchema7} */ (/** @type {unknown} */ (inputSchema));
      const execute = async (input) => {
        console.log(`agent: ${name} ${JSON.stringify(input)}`);
        const { content } = await client.callTool({ name, arguments: input }, { timeout: 10 * 60_000 });
        return content.map((part) => ("text" in part ? part.text : "")).join("\n");
      };
      return [name, dynamicTool({ description, inputSchema: jsonSchema(schema), execute })];
    }),
  );
  const prompt = "The tests of this project fail. Find out why and fix it.";
  const { text } = await generateText({ model, tools: toolSet, stopWhen: isStepCount(20), prompt });
  await client.close();
  return text;
}

/** What a person at a terminal sees: the difference and the keys. */
async function askAtTerminal({ folder, env }) {
  const content = "# Changes\n\n- The total includes the quantity of each item.\n";
  const terminal = spawnOnTerminal(
    process.execPath,
    [HAFT, "tools", "call", "write", "path=CHANGES.md", `content=${content}`],
    {
      cols: 100,
      rows: 40,
      cwd: folder,
      env: { ...env, TERM: "xterm-256color" },
    },
  );
  let printed = "";
  terminal.onData((text) => (printed += text));
  await waitFor(() => printed.includes("leave open: "));
  terminal.kill();
  return printed;
}

async function drawTerminal(browser, printed, colorScheme) {
  const page = await browser.newPage({ viewport: { width: 820, height: 100 }, colorScheme });
  // Colours are kept; every other sequence moves a cursor that a picture does not have.
  const text = printed
    .replaceAll("\r", "")
    .replaceAll(/\u001b\[[\d;?]*[A-Za-ln-z]/g, "")
    .trimEnd();
  // Without the progress before the question.
  const asked = text.slice(text.lastIndexOf("\n", text.indexOf("asks for permission")) + 1);
  const isDark = colorScheme === "dark";
  await page.setContent(`<style>
    body { margin: 0; padding: 14px 18px; background: ${isDark ? "#16181d" : "#fbfbfc"}; color: ${isDark ? "#e4e6eb" : "#1c1e23"}; }
    pre { margin: 0; font: 13px/1.5 "DejaVu Sans Mono", monospace; white-space: pre-wrap; }
    .ansi-red-fg { color: ${isDark ? "#ff8d85" : "#b3261e"} } .ansi-green-fg { color: ${isDark ? "#6fd08c" : "#146c2e"} }
    .ansi-yellow-fg { color: ${isDark ? "#e8c268" : "#7a5900"} } .ansi-cyan-fg { color: ${isDark ? "#76d0e0" : "#00687a"} }
    .ansi-bold { font-weight: 700 } .ansi-dim { opacity: .65 }
  </style><pre><span class="ansi-dim">$</span> haft tools call write path=CHANGES.md content=…\n${Anser.ansiToHtml(Anser.escapeForHtml(asked), { use_classes: true })}</pre>`);
  await page.setViewportSize({ width: 820, height: await page.evaluate("document.documentElement.scrollHeight") });
  await takePicture(page, isDark ? "terminal-dark" : "terminal", { scale: 1.5 });
  await page.close();
}

/** Polls until there is a value. Long enough for a busy machine. */
async function waitFor(find) {
  for (const end = Date.now() + 240_000; Date.now() < end;) {
    const found = await find();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`Waited too long: ${find}`);
}
