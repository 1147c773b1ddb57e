import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
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
  examples: [
    ["haft hook claude < event.json", "answer an event of Claude Code in its protocol"],
    ["haft hook install claude", "put Haft in front of the tools of Claude Code in this folder"],
  ],
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
    event = await readEvent(terminal);
    return await askServer({ agent, event, folder: projectOf(folder), env: terminal.env, limitMs });
  } catch (error) {
    return denyAnswer(agent, `Haft: ${errorMessage(error)} The call is denied.`, event);
  }
}

async function readEvent({ stdin }: Terminal): Promise<string> {
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

/** An agent runs hooks in the folder in which it works now, which may be below its project. */
export function projectOf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (MARKS.some((mark) => existsSync(join(at, mark)))) return at;
    if (at === dirname(at)) return folder;
  }
}
