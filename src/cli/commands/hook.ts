import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { errorMessage } from "../../core/error.ts";
import { AGENT_NAMES, type AgentName, denyAnswer, isAgentName } from "../../models/hook-protocols.ts";
import { MAX_EVENT_BYTES } from "../../server/hook-socket.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { askServer } from "../hook-client.ts";
import type { Terminal } from "../terminal.ts";

/** Below the time limit that Copilot gives its hooks: 30 seconds. */
export const DEFAULT_LIMIT_MS = 25_000;

export const hook = defineCommand({
  examples: [["haft hook claude < event.json", "answer an event of Claude Code in its protocol"]],
  operands: [{ name: "AGENT" }],
  options: {
    limit: { type: "duration", value: "TIME", about: "When the agent needs its answer; default: 25s" },
  },
  notes: [
    `AGENT is one of ${AGENT_NAMES.join(", ")}. The event is read from stdin.`,
    "What cannot be decided is denied: an event that is not known, a server that does not start, a time limit.",
  ],
  async run({ operands: [name = ""], options, folder, terminal }) {
    if (!isAgentName(name)) throw new UsageError(`There is no agent "${name}". Known: ${AGENT_NAMES.join(", ")}.`);
    const answer = await answerHook(name, { limitMs: options.limit ?? DEFAULT_LIMIT_MS, folder, terminal });
    if (answer.stdout) terminal.stdout.write(answer.stdout);
    if (answer.stderr) terminal.stderr.write(answer.stderr);
    return answer.exitCode;
  },
});

async function answerHook(
  agent: AgentName,
  { limitMs, folder, terminal }: { limitMs: number; folder: string; terminal: Terminal },
) {
  let event: string | undefined;
  try {
    const until = Date.now() + limitMs;
    event = await readEvent(terminal, limitMs);
    const project = projectOf(agent, { folder, terminal });
    return await askServer({ agent, event, folder: project, env: terminal.env, limitMs: until - Date.now() });
  } catch (error) {
    return denyAnswer(agent, `Haft: ${errorMessage(error)} The call is denied.`, event);
  }
}

/** Also rejects if the event does not come: some agents let the call run after their time limit. */
async function readEvent({ stdin }: Terminal, limitMs: number): Promise<string> {
  const late = new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error("The event did not come in time.")), limitMs).unref();
  });
  return Promise.race([readAll(stdin), late]);
}

async function readAll(stdin: Terminal["stdin"]): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stdin) {
    const read = Buffer.from(part);
    bytes += read.length;
    if (bytes > MAX_EVENT_BYTES) throw new Error("The event is too large.");
    parts.push(read);
  }
  return Buffer.concat(parts).toString("utf8");
}

const MARKS = ["haft.config.yml", "haft.config.yaml", "haft.config.json", ".haft", ".git"];

/** Where these agents say which project they were started in. */
const PROJECT_VARIABLES: Partial<Record<AgentName, string>> = {
  claude: "CLAUDE_PROJECT_DIR",
  gemini: "GEMINI_PROJECT_DIR",
  cursor: "CURSOR_PROJECT_DIR",
};

/**
 * An agent runs hooks in the folder in which it works now, which may be below its project. A folder that was named, or that the
 * agent names, comes first: what the agent writes below must not change which rules apply.
 */
function projectOf(agent: AgentName, { folder: given, terminal }: { folder: string; terminal: Terminal }): string {
  const named = terminal.env[PROJECT_VARIABLES[agent] ?? ""];
  const folder = given === terminal.cwd && named !== undefined && isAbsolute(named) ? named : given;
  if (given !== terminal.cwd) return folder;
  for (let at = folder; ; at = dirname(at)) {
    if (MARKS.some((mark) => existsSync(join(at, mark)))) return at;
    if (at === dirname(at)) return folder;
  }
}
