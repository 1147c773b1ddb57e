// From the event of an agent to the answer, with a running server: the native client, and Node, for each agent. Wall time: an agent
// waits for it.
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { DIST, interleave, median, percentile, SMOKE } from "../harness.mjs";
import { ROOT } from "../../scripts/root.mjs";

export const name = "hooks";

const ROUNDS = 20;
const AGENTS = ["claude", "codex", "gemini", "cursor", "copilot", "opencode", "pi"];
const NATIVE = join(ROOT, "native", `hook-${process.arch}`);

export async function run({ report }) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "haft-bench-hooks-")));
  const folder = join(base, "work");
  mkdirSync(folder);
  writeFileSync(join(folder, "haft.config.yml"), 'permissions:\n  deny: ["Bash(git push:*)"]\n');
  const root = join(base, "state");
  const env = { ...process.env, HOME: base, HAFT_STATE_DIR: root, XDG_CONFIG_HOME: join(base, "config") };
  const program = join(DIST, "cli/main.js");
  const nodeWords = (agent) => [process.execPath, program, "hook", agent, "--limit", "2m", "--folder", folder];
  const start = ([file, ...words], input) => spawnSync(file, words, { cwd: folder, env, input, encoding: "utf8" });
  let pid;
  try {
    // Starts the server.
    denied("claude", start(nodeWords("claude"), eventOf("claude", folder)));
    const state = await until(() => stateOf(root));
    pid = (await until(() => serverIn(state))).pid;
    const subjects = {};
    for (const agent of AGENTS) {
      const event = eventOf(agent, folder);
      const native = [NATIVE, agent, "115000", root, basename(state), "/bin/false"];
      if (existsSync(NATIVE)) subjects[`${agent} native`] = () => timedStart(native, event, { agent, folder, env });
      subjects[`${agent} node`] = () => timedStart(nodeWords(agent), event, { agent, folder, env });
    }
    await interleave(subjects, SMOKE ? 1 : 3);
    const taken = await interleave(subjects, ROUNDS);
    for (const agent of AGENTS) {
      const native = taken[`${agent} native`];
      const node = taken[`${agent} node`];
      if (native)
        report({
          case: `hook of ${agent}, native client, p95`,
          value: percentile(native, 0.95),
          unit: "ms",
          atMost: 60,
        });
      report({ case: `hook of ${agent}, Node, p95`, value: percentile(node, 0.95), unit: "ms" });
      if (native)
        report({ case: `hook of ${agent}, Node ÷ native, p50`, value: median(node) / median(native), unit: "×" });
    }
  } finally {
    if (pid !== undefined) process.kill(pid, "SIGTERM");
    await sleep(500);
    rmSync(base, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Without waiting in this process: the clock must not stand while it reads. */
function timedStart([file, ...words], input, { agent, folder: cwd, env }) {
  return new Promise((resolve, reject) => {
    const from = process.hrtime.bigint();
    const child = spawn(file, words, { cwd, env });
    const seen = { stdout: "", stderr: "" };
    child.stdout.on("data", (part) => (seen.stdout += part));
    child.stderr.on("data", (part) => (seen.stderr += part));
    child.stdin.on("error", () => undefined);
    child.once("error", reject);
    child.once("close", () => {
      try {
        denied(agent, seen);
        resolve(Number(process.hrtime.bigint() - from) / 1e6);
      } catch (error) {
        reject(error);
      }
    });
    child.stdin.end(input);
  });
}

/** A verdict of the rules: nothing else is compared with. */
function denied(agent, { stdout, stderr }) {
  if (!`${stdout}${stderr}`.includes("git push:*")) throw new Error(`${agent} was not denied: ${stdout}${stderr}`);
}

function eventOf(agent, cwd) {
  const command = "git push origin main";
  const session = "bench";
  const tool = { session_id: session, cwd, tool_input: { command }, tool_use_id: "t1" };
  switch (agent) {
    case "gemini":
      return JSON.stringify({ ...tool, hook_event_name: "BeforeTool", tool_name: "run_shell_command" });
    case "cursor":
      return JSON.stringify({
        ...{ conversation_id: session, workspace_roots: [cwd], cwd, hook_event_name: "preToolUse" },
        ...{ tool_name: "Shell", tool_input: { command } },
      });
    case "copilot":
      return JSON.stringify({ sessionId: session, cwd, toolName: "bash", toolArgs: JSON.stringify({ command }) });
    case "opencode":
    case "pi": {
      const event = agent === "pi" ? "tool_call" : "tool.execute.before";
      return JSON.stringify({ event, session, id: "t1", cwd, tool: "bash", input: { command } });
    }
    default:
      return JSON.stringify({ ...tool, hook_event_name: "PreToolUse", tool_name: "Bash" });
  }
}

async function until(find) {
  for (let tries = 0; tries < 600; tries++) {
    const found = find();
    if (found !== undefined) return found;
    await sleep(100);
  }
  throw new Error("The server did not start.");
}

function stateOf(root) {
  const name = existsSync(root) && readdirSync(root).find((each) => existsSync(join(root, each, "hook.sock")));
  return name ? join(root, name) : undefined;
}

function serverIn(state) {
  const file = join(state, "server.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}
