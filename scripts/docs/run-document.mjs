// Runs the blocks of a document in their order, and compares what they print with what the document shows.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { beginsWith, compareOutput } from "./compare-output.mjs";
import { killGroup, startGroup } from "./processes.mjs";
import { isExecuted } from "./read-document.mjs";
import { openScratch } from "./scratch.mjs";
import { splitCommands, Terminal } from "./terminal.mjs";
import { transpile } from "./transpile.mjs";

const MAX_MS = 60_000;
const MAX_START_MS = 30_000;

/** Languages whose blocks run, and whose output a block `output` shows. */
const PROGRAMS = new Set(["ts", "js", "sh"]);
const SCRIPTS = new Set(["ts", "js"]);
const IS_CONFIGURATION = /(?:^|\/)(?:haft\.config\.(?:ya?ml|json5?)|config\/haft\/config\.ya?ml)$/;

/** Returns the problems with their lines, and how many blocks ran; `skipped` says why none did. */
export async function runDocument(document, workshop, services = {}) {
  if (!isExecuted(document)) return { executed: 0, problems: [] };
  const { variables, skipped } = await provideNeeds(document, services);
  if (skipped !== undefined) return { executed: 0, problems: [], skipped };
  const scratch = await openScratch(workshop, document, variables);
  const run = new DocumentRun(document, workshop, scratch, services.maxMs ?? MAX_MS);
  try {
    await run.runBlocks();
    return { executed: run.executed, problems: run.problems };
  } finally {
    await run.close();
    scratch.close();
  }
}

/**
 * `<!-- needs: curl -->`: a document that needs a program is skipped without it. `<!-- needs: postgres -->` gives it a database, whose
 * URL is in DATABASE_URL.
 * @param {{ text: string }} document
 * @param {{ createDatabase?: () => Promise<string> }} services
 */
async function provideNeeds({ text }, { createDatabase }) {
  const needed = Array.from(text.matchAll(/^<!-- needs: ([\w-]+) -->$/gm), ([, name]) => name);
  const missing = needed.find((name) => name !== "postgres" && !isInstalled(name));
  if (missing !== undefined) return { skipped: `${missing} is not installed` };
  if (!needed.includes("postgres")) return {};
  if (createDatabase === undefined) return { skipped: "there is no PostgreSQL" };
  try {
    return { variables: { DATABASE_URL: await createDatabase() } };
  } catch (error) {
    return { skipped: `PostgreSQL could not be started: ${error?.message ?? error}` };
  }
}

function isInstalled(program) {
  return spawnSync("sh", ["-c", `command -v ${program}`]).status === 0;
}

class DocumentRun {
  executed = 0;
  problems = [];
  #document;
  #workshop;
  #scratch;
  #terminals = new Map();
  #background = [];
  #maxMs;
  #isStopped = false;

  constructor(document, workshop, scratch, maxMs) {
    this.#maxMs = maxMs;
    this.#document = document;
    this.#workshop = workshop;
    this.#scratch = scratch;
  }

  async runBlocks() {
    const { blocks } = this.#document;
    for (const [index, block] of blocks.entries()) {
      if (this.#isStopped) break;
      if (block.problem !== undefined || block.exemption === "no-check") continue;
      if (block.needs !== undefined && !isInstalled(block.needs)) continue;
      const next = blocks[index + 1];
      await this.#runBlock(block, next?.output ? next : undefined, blocks[index - 1]);
    }
    for (const { terminal, block, isReady } of this.#background) {
      const { exitCode } = terminal;
      if (!isReady) continue;
      // More than 128: the document stopped it with a signal.
      if (exitCode === null || exitCode === 0 || exitCode > 128) continue;
      this.#report(block, `\`${firstLine(block.code)}\` ended with ${exitCode}`, terminal.printed);
    }
  }

  async close() {
    const background = this.#background.map(({ terminal }) => terminal);
    await Promise.all([...this.#terminals.values(), ...background].map((terminal) => terminal.close()));
  }

  async #runBlock(block, shown, previous) {
    const code = this.#withPorts(block.code);
    if (block.output) {
      if (!PROGRAMS.has(previous?.language) || previous.output || previous.exemption)
        this.#report(block, "This output follows no block that runs");
      return;
    }
    if (block.file !== undefined) this.#save(block.file, code);
    if (block.exemption === "no-run") return;
    if (SCRIPTS.has(block.language)) await this.#runScript(block, code, shown);
    else if (block.language === "sh")
      await (block.background ? this.#start(block, code, shown) : this.#runShell(block, code, shown));
    else if (isConfiguration(block)) await this.#load(block, code);
    else return;
    this.executed += 1;
  }

  #save(name, code) {
    const file = join(this.#scratch.project, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${code}\n`);
  }

  async #runScript(block, code, shown) {
    const { project, env } = this.#scratch;
    // Hidden, so a tool that lists the folder does not meet it.
    const file = join(project, block.file ?? `.block-${block.line}.mjs`);
    if (block.file === undefined) writeFileSync(file, block.language === "ts" ? transpile("block.ts", code) : code);
    const needsHooks = /\.m?ts$/.test(file) || /(?:from|import\()\s*["']\.[^"']*\.m?ts["']/.test(code);
    const flags = needsHooks ? ["--import", pathToFileURL(this.#workshop.hooks).href] : [];
    const { exitCode, stdout, stderr, isTooLong } = await runNode([...flags, file], {
      cwd: project,
      env,
      maxMs: this.#maxMs,
    });
    if (block.file === undefined) rmSync(file);
    this.#isStopped = isTooLong;
    if (isTooLong) this.#report(block, `did not end after ${this.#maxMs / 1000} s`, `${stdout}${stderr}`);
    else if (exitCode !== 0) this.#report(block, `ended with ${exitCode}`, `${stdout}${stderr}`);
    else if (shown) this.#compare(shown, stdout, stderr);
    else if (stderr !== "") this.#report(block, "It printed on stderr, and no output block shows it", stderr);
  }

  async #runShell(block, code, shown) {
    const terminal = this.#terminal(block.in ?? "");
    let printed = "";
    let isFailed = false;
    for (const command of splitCommands(code)) {
      const { output, exitCode, isTooLong } = await terminal.run(command.text);
      printed += output;
      if (exitCode === command.exitCode) continue;
      isFailed = true;
      const expected = command.exitCode === 0 ? "" : `, not with ${command.exitCode}`;
      this.#report(
        { line: block.line + command.line },
        `\`${firstLine(command.text)}\` ended with ${exitCode}${expected}`,
        output,
      );
      this.#isStopped = isTooLong === true;
      if (terminal.hasEnded) break;
    }
    if (shown && !isFailed) this.#compare(shown, printed);
  }

  /** A program that keeps running. It is ready when it has printed what the document shows, or anything. */
  async #start(block, code, shown) {
    const terminal = this.#openTerminal();
    const program = { terminal, block, isReady: false };
    this.#background.push(program);
    const inherited = block.in === undefined ? "" : await this.#terminal(block.in).describe();
    terminal.start(`${inherited}${code}`, "exit\n");
    const isReady = shown
      ? () => beginsWith(shown.code, this.#withoutPorts(terminal.printed))
      : () => terminal.printed.includes("\n");
    const isThere = await terminal.waitFor(() => isReady() || terminal.hasEnded, MAX_START_MS);
    program.isReady = isReady();
    if (program.isReady) return;
    this.#isStopped = !isThere;
    const why = isThere ? "ended before it was ready" : `was not ready after ${MAX_START_MS / 1000} s`;
    this.#report(block, `\`${firstLine(code)}\` ${why}`, this.#withoutPorts(terminal.printed));
    if (shown) this.#compare(shown, terminal.printed);
  }

  /** Loads a configuration with the program: it must have neither an error nor a warning. */
  async #load(block, code) {
    const { project, home, env } = this.#scratch;
    const { loadConfig, ConfigError } = await import(pathToFileURL(join(this.#workshop.haft, "dist", "host.js")).href);
    // Without a name it is the only file of a folder of its own.
    const folder = block.file === undefined ? mkdtempSync(join(home, "configuration-")) : project;
    if (block.file === undefined) writeFileSync(join(folder, "haft.config.yml"), `${code}\n`);
    try {
      const { warnings } = await loadConfig({ folder, home, env: { ...env, ...placeholders(code) } });
      for (const { line, message } of warnings) this.#reportConfiguration(block, line, message);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      for (const { line, message } of error.problems) this.#reportConfiguration(block, line, message);
    }
  }

  #reportConfiguration(block, line = 1, message) {
    this.#report({ line: block.line + line - 1 }, message);
  }

  #terminal(name) {
    const known = this.#terminals.get(name);
    if (known && !known.hasEnded) return known;
    const terminal = this.#openTerminal();
    this.#terminals.set(name, terminal);
    return terminal;
  }

  #openTerminal() {
    const { project: cwd, env, scripts } = this.#scratch;
    return new Terminal({ cwd, env, scripts, maxMs: this.#maxMs });
  }

  /** `stderr`: if it is separate. Which of both came first is not known. */
  #compare(shown, printed, stderr = "") {
    const orders = stderr === "" ? [printed] : [`${printed}${stderr}`, `${stderr}${printed}`];
    const diffs = orders.map((text) => compareOutput(shown.code, this.#withoutPorts(text)));
    if (!diffs.includes(undefined)) this.#report(shown, "The output is another one", diffs[0]);
  }

  #report({ line }, message, details = "") {
    this.problems.push({ line, message, details: this.#withoutPorts(details).replace(/^\n+/, "").trimEnd() });
  }

  #withPorts(text) {
    return replaceAll(text, this.#scratch.ports.entries());
  }

  #withoutPorts(text) {
    return replaceAll(
      text,
      [...this.#scratch.ports].map(([named, used]) => [used, named]),
    );
  }
}

function isConfiguration({ language, file }) {
  if (file !== undefined) return IS_CONFIGURATION.test(file);
  return language === "yaml" || language === "yml";
}

/** Values for the variables that a configuration uses without a default. */
function placeholders(code) {
  return Object.fromEntries(Array.from(code.matchAll(/(?<!\$)\$\{(?:env:)?(\w+)\}/g), ([, name]) => [name, "value"]));
}

function replaceAll(text, pairs) {
  for (const [from, to] of pairs) text = text.replaceAll(new RegExp(`\\b${from}\\b`, "g"), to);
  return text;
}

function firstLine(text) {
  return text.trim().split("\n")[0];
}

async function runNode(parameters, { cwd, env, maxMs }) {
  const child = startGroup(process.execPath, parameters, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
  let isTooLong = false;
  const timer = setTimeout(() => {
    isTooLong = true;
    killGroup(child);
  }, maxMs);
  const [code, signal] = await new Promise((resolve) => child.on("close", (...end) => resolve(end)));
  clearTimeout(timer);
  return { exitCode: code ?? signal, stdout, stderr, isTooLong };
}
