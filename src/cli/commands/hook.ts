import { Buffer } from "node:buffer";
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { errorMessage } from "../../core/error.ts";
import {
  AGENT_NAMES,
  type AgentName,
  denyAnswer,
  eventText,
  isAgentName,
  PROJECT_VARIABLES,
} from "../../models/hook-protocols.ts";
import { MAX_EVENT_BYTES } from "../../server/hook-socket.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { askServer } from "../hook-client.ts";
import type { HookScope, InstalledHook } from "../hook-setup.ts";
import { safeLine } from "../output.ts";
import { haftCommand, type Terminal } from "../terminal.ts";

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
  async run({ operands: [name = ""], options, folder: given, isFolderNamed, terminal }) {
    const agent = agentOf(name);
    const folder = isFolderNamed ? given : projectOf(agent, terminal);
    const answer = await answerHook(agent, { limitMs: options.limit ?? DEFAULT_LIMIT_MS, folder, terminal });
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
    return await askServer({ agent, event, folder, env: terminal.env, limitMs: until - Date.now() });
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
  return eventText(Buffer.concat(parts));
}

/** `native/hook.c` has the same list, and finds the same folder. */
const MARKS = ["haft.config.yml", "haft.config.yaml", "haft.config.json", ".haft", ".git"];

/**
 * An agent runs hooks in the folder in which it works now, which may be below its project. A folder that was named, or that the
 * agent names, comes first: what the agent writes below must not change which rules apply.
 */
function projectOf(agent: AgentName, { env, cwd }: Terminal): string {
  const named = env[PROJECT_VARIABLES[agent] ?? ""];
  const folder = named !== undefined && isAbsolute(named) ? named : cwd;
  for (let at = folder; ; at = dirname(at)) {
    if (MARKS.some((mark) => existsSync(join(at, mark)))) return at;
    if (at === dirname(at)) return folder;
  }
}

function agentOf(name: string): AgentName {
  if (isAgentName(name)) return name;
  throw new UsageError(`There is no agent "${name}". Known: ${AGENT_NAMES.join(", ")}.`);
}

const WRITES = {
  user: { type: "flag", about: "In your own configuration of the agent, for all folders" },
  project: { type: "flag", about: "In this folder; the default" },
  yes: { type: "flag", about: "Write without a question" },
} as const;

function scopeOf({ user, project }: { user: boolean; project: boolean }): HookScope {
  if (user && project) throw new UsageError("Use either --user or --project.");
  return user ? "user" : "project";
}

const install = defineCommand({
  examples: [
    ["haft hook install claude", "for this folder: shows the difference, asks, and tries it"],
    ["haft hook install codex --user --yes", "for all folders of this user, without a question"],
  ],
  operands: [{ name: "AGENT", oneOf: AGENT_NAMES }],
  options: WRITES,
  notes: [
    "Keeps what is in the file. Then it starts the command line from the file with a call that Haft always denies, and fails if",
    "that call is not denied. Files of administrators are printed, and never written.",
  ],
  async run({ argv, operands: [name = ""], options, folder, terminal, output, interrupted }) {
    const agent = agentOf(name);
    const [setup, { agreeTo }] = await Promise.all([import("../hook-setup.ts"), import("./mcp-lock.ts")]);
    const { env } = terminal;
    const place = { agent, scope: scopeOf(options), folder, env };
    const change = setup.planInstall(place, haftCommand());
    const managed = setup.MANAGED[agent];
    if (managed !== undefined)
      output.info(`For all users of a machine, an administrator writes the same to ${managed}.`);
    if (change.before !== change.after) {
      const answered = await agreeTo([change], { argv, terminal, output, interrupted, yes: options.yes });
      if (answered !== undefined) return answered;
      setup.writeChange(change);
    }
    setup.recordHook(env, change.file, { agent, scope: place.scope, folder, native: setup.nativeWords(place) });
    return showHooks(
      setup.installedHooks(env).filter(({ file }) => file === change.file),
      { terminal, output, folder },
    );
  },
});

const status = defineCommand({
  examples: [["haft hook status", "each hook that was installed, whether it was changed, and whether it denies"]],
  notes: [
    "Each hook that is as Haft wrote it is tried with a call that Haft always denies. Exits with 1 if one does not hold.",
  ],
  async run({ terminal, output, folder }) {
    const { installedHooks } = await import("../hook-setup.ts");
    const hooks = installedHooks(terminal.env);
    if (hooks.length === 0) output.info("No hook is installed. `haft hook install AGENT` does it.");
    return showHooks(hooks, { terminal, output, folder });
  },
});

const remove = defineCommand({
  examples: [["haft hook remove claude", "take Haft's entries out of the file, and leave everything else"]],
  operands: [{ name: "AGENT", oneOf: AGENT_NAMES }],
  options: WRITES,
  async run({ argv, operands: [name = ""], options, folder, terminal, output, interrupted }) {
    const agent = agentOf(name);
    const [setup, { agreeTo }] = await Promise.all([import("../hook-setup.ts"), import("./mcp-lock.ts")]);
    const { env } = terminal;
    const scope = scopeOf(options);
    const file = setup.hookFileOf({ agent, scope, folder, env });
    const change = setup.planRemove({ agent, file });
    if (change) {
      const answered = await agreeTo([change], { argv, terminal, output, interrupted, yes: options.yes });
      if (answered !== undefined) return answered;
      setup.writeChange(change);
    }
    setup.recordHook(env, file);
    output.data({ agent, file, removed: change !== undefined }, () => [safeLine(file)]);
    output.info(change ? `${agent} has no hook of Haft there any more.` : "There was no hook of Haft.");
    return EXIT.done;
  },
});

interface ShownHook extends InstalledHook {
  state: string;
  denies: boolean;
  problem?: string;
  /** Why each call starts Node. */
  slow?: string;
  gap?: string;
  /** Hooks of others, which the agent asks too. */
  others: string[];
}

async function showHooks(
  hooks: readonly InstalledHook[],
  { terminal, output, folder }: Pick<Invocation, "terminal" | "output" | "folder">,
): Promise<number> {
  const { GAPS, otherHooks, proveHook, proveNative, stateOf } = await import("../hook-setup.ts");
  const items: ShownHook[] = [];
  for (const hook of hooks) {
    const place = { env: terminal.env, folder };
    const problem = await proveHook(hook, place);
    const denies = problem === undefined;
    const slow = denies ? await proveNative(hook, terminal.env) : undefined;
    items.push({
      ...hook,
      state: await stateOf(hook, place),
      denies,
      problem,
      slow,
      gap: GAPS[hook.agent],
      others: await otherHooks(hook, place),
    });
  }
  output.list({ items }, () =>
    items.flatMap(({ agent, scope, file, state, denies, problem, slow, gap, others }) => [
      `${output.paint(denies && state === "installed" ? "green" : "red", denies ? state : "does not deny")}  ${agent}  ${scope}  ${safeLine(file)}`,
      ...(state === "changed"
        ? [output.paint("red", "  It is not what Haft wrote. `haft hook install` writes it again.")]
        : []),
      ...(problem === undefined ? [] : [output.paint("red", `  ${safeLine(problem)}`)]),
      ...(slow === undefined ? [] : [output.paint("yellow", `  ${safeLine(slow)}`)]),
      ...others.map((other) =>
        output.paint("yellow", `  The agent also asks ${safeLine(other)}, before Haft or after it. Either may deny.`),
      ),
      ...(gap === undefined ? [] : [output.paint("red", `  ${gap}`)]),
    ]),
  );
  return items.every(({ denies, state }) => denies && state === "installed") ? EXIT.done : EXIT.failed;
}

export const commands = { install, status, remove };
