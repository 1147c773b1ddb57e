import { resolve } from "node:path";
import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock, type Timer } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { type Preview, type TaintLabel, type ToolContext, ToolKind } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import { containsDenied, describeAllowed, isInside, isSecretName } from "../../io/files/path-policy.ts";
import { readCommandWith } from "../../io/shell/command-signature.ts";
import { dangerReason } from "../../io/shell/dangerous-command.ts";
import { findProgram, findShell } from "../../io/shell/find-program.ts";
import type { OutputBuffer, SpillSink } from "../../io/shell/output-buffer.ts";
import { unwrapCommand } from "../../io/shell/parse-command.ts";
import type { ProcessTable, TableStartOptions } from "../../io/shell/process-table.ts";
import { analyseCommand, quoteExecution } from "../../io/shell/read-only-command.ts";
import { isPlainRepository } from "../../io/shell/read-only-git.ts";
import type { RunningProcess } from "../../io/shell/run-process.ts";
import { refuseEnvEntry, type SessionEnvironments } from "../../io/shell/shell-environment.ts";
import { showHiddenCharacters, stripTerminalCodes } from "../../io/shell/terminal-text.ts";
import type { InferOutput } from "../../schema/infer.ts";
import { processOwner, REPLY_LIMITS, type ReplyLimits } from "./command-output.ts";
import { describeRun, type ExecDetails, type Run } from "./exec-result.ts";

export interface ExecDependencies {
  processes: ProcessTable;
  environments: SessionEnvironments;
  /** Says which working directories may be used. */
  files: Files;
  /** Keeps what a reply does not show. The model reads it by the `ref` that closing gives. */
  openSpill?: (call: { callId: string; caller: Caller }) => SpillSink | Promise<SpillSink>;
  clock?: Clock;
  reply?: Partial<ReplyLimits>;
  /** Where commands run; without one they may do whatever the user may who runs this. */
  confining?: Confining | undefined;
  /** Whether git may run unasked where it only reads and its repository's configuration names no programs. */
  trustedRepository?: boolean | undefined;
}

/** What ending a command that resists may take beyond its limit, so that the gate's limit never comes first. */
const ENDING_MS = 15_000;
/** Within the moment that the gate gives a cancelled call to say what it had. */
const LAST_WORDS_MS = 100;
const TERMINAL = { cols: 120, rows: 30 };

/** Runs a command in a shell: to its end, to its time limit, or until it is left to the background. */
export function createExecTool(dependencies: ExecDependencies) {
  /** What a call that was not asked about is to run: decided once, when that was decided. */
  const plans = new WeakMap<ExecInput, string>();
  const mayRunUnasked = (input: ExecInput): boolean => {
    const plan = planReadOnly(input, circumstancesOf(dependencies, dependencies.files));
    if (plan !== undefined) plans.set(input, plan);
    return plan !== undefined;
  };
  const isConfined = (input: ExecInput): boolean =>
    dependencies.confining?.confinement !== undefined && input.outside_sandbox !== true;
  const asks = (input: ExecInput): boolean => {
    const { confinement, missing } = dependencies.confining ?? {};
    // Without a sandbox the word changes nothing.
    if (input.outside_sandbox === true && (confinement !== undefined || missing !== undefined)) return true;
    return !(confinement?.autoAllow === true || mayRunUnasked(input));
  };
  return createTool({
    name: "exec",
    title: "Run a command",
    description: {
      short: "Runs a shell command and returns its output and exit code.",
      usageNotes: [
        "Each call is a shell of its own: directory and variables do not carry over. Join steps with &&.",
        "Nobody can answer questions: pass flags such as --yes, or use pty with the process tool.",
        "Long output shows its beginning and end, and says where the rest is.",
      ],
      important: ["To read, write, edit or search files use the tools for that, not cat, sed, find or grep."],
      examples: [{ input: { command: "git --version", description: "See which git is installed" } }],
    },
    kind: ToolKind.Execute,
    category: ToolCategory.RUNTIME,
    tags: ["shell", "bash", "command", "terminal", "run"],
    aliases: ["bash", "shell"],
    dialects: {
      claude: { name: "Bash" },
      openclaw: {
        name: "exec",
        parameters: { working_directory: "workdir", run_in_background: "background", yield_ms: "yieldMs" },
      },
    },
    parameterAliases: EXEC_PARAMETER_ALIASES,
    parameters: EXEC_PARAMETERS,
    concurrency: "exclusive",
    limits: { timeoutMs: (input) => foregroundMs(input) + ENDING_MS },
    labels: ["untrusted_input", "sensitive_data", "outside_effect"],
    labelsOf: (input) => {
      const onlyReads = planReadOnly(input, circumstancesOf(dependencies, dependencies.files));
      const reachesOut = onlyReads === undefined && !isConfined(input);
      return [...commandLabels(input.command), ...(reachesOut ? (["outside_effect"] as const) : [])];
    },
    origin: { type: "builtin" },
    permission: (input) => (asks(input) ? "confirm" : "auto"),
    signature: ({ command, working_directory: directory, env, stdin, outside_sandbox: outside }) => ({
      text: command,
      command: {
        ...readCommandWith(command, { directory, env: env as Record<string, string> | undefined, stdin }),
        // A rule that allows the command was not made with this in mind.
        ...(outside && dependencies.confining ? { undetermined: "It is to run outside of the sandbox." } : {}),
      },
    }),
    preview: async (input, context) =>
      previewCommand(input, dependencies.files.narrow(context.allowedPaths), dependencies.confining),
    validate: (input) => (input.command.trim() === "" ? "command: is blank" : refuseTimes(input)),
    run: (input, context) => run(input, context, { ...dependencies, plan: plans.get(input) }),
  });
}

interface Planned {
  plan: string | undefined;
}

async function run(
  input: ExecInput,
  context: ToolContext,
  dependencies: ExecDependencies & Planned,
): Promise<ToolOutput<ExecDetails>> {
  const { processes, clock = systemClock, reply } = dependencies;
  const { signal } = context;
  const files = dependencies.files.narrow(context.allowedPaths);
  if (dependencies.plan !== undefined) requireReadable(input, files, dependencies);
  const cwd = files.realPath(input.working_directory ?? ".");
  const owner = processOwner(context.caller);
  const { limitMs, yieldMs } = runTimes(input);
  const startedAt = clock.monotonic();
  const { id, process } = await processes.start(owner, startOptions(input, context, { ...dependencies, cwd, limitMs }));
  giveInput(process, input);
  const stopStreaming = streamOutput(process.output, (news) => context.update(news), clock);
  await processes.poll(owner, id, { until: "exit", waitMs: yieldMs ?? Number.POSITIVE_INFINITY, signal });
  if (!process.exit && signal.aborted) await waitForEnd(process, LAST_WORDS_MS, clock);
  stopStreaming();
  const stopped = !process.exit && signal.aborted;
  if (!process.exit && !stopped) process.sendToBackground();

  const described = await describeRun(
    {
      command: input.command,
      workingDirectory: files.show(cwd),
      id,
      process,
      limitMs,
      elapsedMs: clock.monotonic() - startedAt,
      stopped,
      ...describeConfinement(input, dependencies.confining),
    },
    { ...REPLY_LIMITS, ...reply },
  );
  if (described.details?.processId === undefined) void forget(processes, { owner, id, process });
  return described;
}

function startOptions(
  input: ExecInput,
  { signal, caller, callId, allowedPaths }: ToolContext,
  dependencies: ExecDependencies & Planned & { cwd: string; limitMs: number },
): TableStartOptions {
  const { environments, openSpill, plan, cwd, limitMs, confining } = dependencies;
  const takesInput = input.stdin !== undefined || input.keep_stdin_open === true;
  const env = environments.environmentOf(caller.session, { terminal: input.pty === true });
  for (const [name, value] of Object.entries((input.env ?? {}) as Record<string, string>)) {
    const refusal = refuseEnvEntry(name, value);
    if (refusal) throw refusal;
    env[name] = value;
  }
  // What was not asked about runs as it was analysed, never as it was written.
  const shellCommand = plan ?? input.command;
  const confinement = input.outside_sandbox ? undefined : confining?.confinement;
  return {
    ...(confinement
      ? {
          argv: confined(shellCommand, confinement, { env, cwd, terminal: input.pty === true, allowedPaths }),
          label: input.command,
        }
      : { shellCommand }),
    cwd,
    env,
    stdin: takesInput ? "pipe" : "closed",
    ...(input.pty && { pty: TERMINAL }),
    timeoutMs: limitMs,
    signal,
    output: { separateStreams: !input.pty, openSpill: openSpill ? () => openSpill({ callId, caller }) : undefined },
  };
}

function confined(
  shellCommand: string,
  confinement: Confinement,
  {
    env,
    cwd,
    terminal,
    allowedPaths,
  }: Pick<TableStartOptions, "env" | "cwd"> &
    Pick<ConfinedCommand, "terminal"> & { allowedPaths: readonly string[] | undefined },
): readonly string[] {
  const shell = findShell(env);
  const commandOptions = { cwd, terminal, allowedPaths };
  return confinement.wrap([shell.path, ...shell.args(shellCommand)], commandOptions);
}

function describeConfinement(
  { outside_sandbox: outside }: ExecInput,
  confining: Confining | undefined,
): Pick<Run, "confined" | "unconfined"> {
  if (confining?.confinement && !outside) return { confined: true };
  return confining?.missing === undefined ? {} : { unconfined: confining.missing };
}

function circumstancesOf({ environments, trustedRepository }: ExecDependencies, files: Files): ReadOnlyCircumstances {
  return { files, env: environments.environmentOf(undefined), trustedRepository };
}

/** A call may narrow the paths further than the decision not to ask knew. */
function requireReadable(input: ExecInput, files: Files, dependencies: ExecDependencies): void {
  if (planReadOnly(input, circumstancesOf(dependencies, files)) !== undefined) return;
  throw toolError("path_denied", "Permission denied: Access denied: the command reads outside the paths of this call", {
    next: `Allowed paths: ${describeAllowed(files.policy)}. Read only what lies there.`,
  });
}

function giveInput(process: RunningProcess, { stdin, keep_stdin_open: keepOpen }: ExecInput): void {
  if (stdin !== undefined && stdin !== "") process.write(stdin);
  if (stdin !== undefined && !keepOpen && !process.terminal) process.endInput();
}

async function waitForEnd(process: RunningProcess, ms: number, clock: Clock): Promise<void> {
  let timer: Timer | undefined;
  await Promise.race([process.wait(), new Promise<void>((resolve) => (timer = clock.after(ms, resolve)))]);
  timer?.cancel();
}

/** Nobody can ask for it any more. Until it has really ended the table keeps it, so that a shutdown finds it. */
async function forget(
  processes: ProcessTable,
  { owner, id, process }: { owner: string; id: string; process: RunningProcess },
): Promise<void> {
  try {
    await process.wait();
    processes.clear(owner, id);
  } catch {
    // Others may have cleared it before.
  }
}

/** Everything that the answer decides about, with nothing hidden in it. */
function previewCommand(input: ExecInput, files: Files, confining: Confining | undefined): Preview {
  const { command, description, stdin, env, working_directory: directory } = input;
  const lines = [
    showHiddenCharacters(command),
    "",
    `in ${showHiddenCharacters(describeDirectory(files, directory ?? "."))}${input.run_in_background ? ", in the background" : ""}`,
  ];
  if (confining?.confinement)
    lines.push(input.outside_sandbox ? "OUTSIDE of the sandbox" : confining.confinement.summary);
  else if (confining?.missing) lines.push(`not confined: ${confining.missing}`);
  const danger = dangerReason(command);
  if (danger) lines.push(`careful: ${danger}`);
  if (description) lines.push(`said to: ${showHiddenCharacters(description)}`);
  for (const [name, value] of Object.entries(env ?? {}))
    lines.push(`with ${name}=${showHiddenCharacters(String(value))}`);
  if (stdin !== undefined) lines.push("with this input:", showHiddenCharacters(stdin));
  return { title: "Run a command", content: [text(lines.join("\n"))] };
}

function describeDirectory(files: Files, directory: string): string {
  try {
    return files.realPath(directory);
  } catch {
    return `${directory} (which will be refused)`;
  }
}

/** What a call of `exec` says about time. */
export interface TimeOptions {
  timeout?: number;
  yield_ms?: number;
  run_in_background?: boolean;
}

export interface RunTimes {
  /** The command is ended after this. */
  limitMs: number;
  /** After this the call answers although the command goes on; absent where the limit comes first. */
  yieldMs?: number;
}

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_FOREGROUND_MS = 600_000;
const DEFAULT_YIELD_MS = 10_000;
/** Nothing that was forgotten runs for ever. */
export const MAX_BACKGROUND_MS = 24 * 3_600_000;
/** Long enough to see a command fail at once, short enough not to be waiting. */
const BACKGROUND_START_MS = 250;

/**
 * Who names a time limit waits for the command up to it; who names none is answered after the yield, and the command goes
 * on. A limit that was named ends the command in the background too; the default one is for the foreground alone.
 */
export function runTimes({ timeout, yield_ms: wish, run_in_background: background }: TimeOptions): RunTimes {
  const defaultYieldMs = timeout === undefined ? DEFAULT_YIELD_MS : Number.POSITIVE_INFINITY;
  const yieldMs = background ? BACKGROUND_START_MS : (wish ?? defaultYieldMs);
  const limitMs = timeout ?? (yieldMs < DEFAULT_TIMEOUT_MS ? MAX_BACKGROUND_MS : DEFAULT_TIMEOUT_MS);
  return limitMs <= yieldMs ? { limitMs } : { limitMs, yieldMs };
}

/** How long the call itself can take, the ending of the command aside. */
export function foregroundMs(wishes: TimeOptions): number {
  const { limitMs, yieldMs } = runTimes(wishes);
  return yieldMs ?? limitMs;
}

/** What is wrong with the wishes, if something is. */
export function refuseTimes(wishes: TimeOptions): string | undefined {
  if (foregroundMs(wishes) <= MAX_FOREGROUND_MS) return undefined;
  return (
    `timeout: at most ${MAX_FOREGROUND_MS} ms in the foreground, got ${wishes.timeout}. ` +
    "Set run_in_background, or a yield_ms after which the command goes on in the background."
  );
}

const EXEC_PARAMETERS = {
  type: "object",
  properties: {
    command: { type: "string", minLength: 1, description: "The command, as one would type it into bash." },
    description: {
      type: "string",
      description: "What the command does, in five to ten words, for whoever reads along.",
    },
    timeout: {
      type: "number",
      minimum: 1,
      maximum: MAX_BACKGROUND_MS,
      description:
        `Milliseconds after which the command and all it started is ended. Given: the call waits that long, at most ` +
        `${MAX_FOREGROUND_MS} unless it goes to the background. Default: ${DEFAULT_TIMEOUT_MS} in the foreground.`,
    },
    working_directory: {
      type: "string",
      minLength: 1,
      description: "Where to run it: a path relative to the workspace, or absolute. It counts for this call only.",
    },
    run_in_background: {
      type: "boolean",
      description: "Answer at once with a process id; go on with the `process` tool. For servers and watchers.",
    },
    yield_ms: {
      type: "number",
      minimum: 0,
      maximum: MAX_FOREGROUND_MS,
      description:
        "Milliseconds to wait; a command that still runs then goes on in the background, and the answer names its " +
        `process id. Default: ${DEFAULT_YIELD_MS}, or no yield where \`timeout\` is given.`,
    },
    pty: { type: "boolean", description: "Run on a pseudo-terminal, for programs that need one." },
    stdin: {
      type: "string",
      description: "Text for standard input, which is then closed (on a terminal: text that is typed).",
    },
    keep_stdin_open: {
      type: "boolean",
      description: "Leave standard input open, to write to it with the `process` tool. It is closed otherwise.",
    },
    outside_sandbox: {
      type: "boolean",
      description:
        "Run it without the sandbox, which a person has to permit. Only where a result said that the sandbox refused something that is needed.",
    },
    env: {
      type: "object",
      additionalProperties: { type: "string" },
      description: "Environment variables for this command only.",
    },
  },
  required: ["command"],
  additionalProperties: false,
} as const;

type ExecInput = InferOutput<typeof EXEC_PARAMETERS>;

/** Names that models of other families use. */
const EXEC_PARAMETER_ALIASES = {
  cmd: "command",
  cwd: "working_directory",
  workdir: "working_directory",
  background: "run_in_background",
  is_background: "run_in_background",
  yieldMs: "yield_ms",
  yield_time_ms: "yield_ms",
  timeout_ms: "timeout",
  timeoutMs: "timeout",
  tty: "pty",
  input: "stdin",
} as const;

/** A place to run commands in from which they cannot get out. */
interface Confinement {
  /** Whether commands that stay in it run without asking. */
  readonly autoAllow: boolean;
  /** What a command may do in it, in one line, for whoever is asked. */
  readonly summary: string;
  /** The command, put into it. */
  wrap(command: readonly string[], commandOptions: ConfinedCommand): readonly string[];
}

interface ConfinedCommand {
  cwd: string;
  terminal: boolean;
  /** What of the workspace may be written in this call; all of it where absent. */
  allowedPaths?: readonly string[];
}

/** Confined, on purpose not, or not although it was wanted: then every result says why. */
type Confining = { confinement: Confinement; missing?: undefined } | { confinement?: undefined; missing?: string };

interface ReadOnlyCircumstances {
  files: Files;
  env: Readonly<Record<string, string>>;
  /** Somebody vouches for the workspace's repository; git still asks where its configuration names programs. */
  trustedRepository?: boolean | undefined;
}

/**
 * What to run in place of a command that provably only reads, and only what may be read; undefined for every other. Such
 * a command need not ask, because what was analysed is what runs: its words, quoted, and nothing that a shell would
 * make of them. What reads whole trees asks where something lies below that may not be read.
 */
function planReadOnly(
  input: ExecInput,
  { files, env, trustedRepository = false }: ReadOnlyCircumstances,
): string | undefined {
  if (process.platform === "win32" || input.env || input.stdin !== undefined || input.pty) return undefined;
  if (input.keep_stdin_open || input.run_in_background) return undefined;
  try {
    const cwd = files.realPath(input.working_directory ?? ".");
    const { workspace } = files.policy;
    const obeysGit = trustedRepository && /\bgit\b/.test(input.command) && isPlainRepository(cwd, workspace);
    const analysis = analyseCommand(input.command, { cwd, roots: [workspace], trustedRepository: obeysGit });
    if (analysis.class !== "read-only" || !analysis.execution) return undefined;
    const paths = analysis.paths.map((path) => files.realPath(resolve(cwd, path)));
    const readsBelow = analysis.commands?.some((command) => command.readsBelow);
    if (readsBelow && paths.some((path) => containsDenied(files.policy, path))) return undefined;
    return quoteExecution(analysis.execution, (name) => {
      if (name.startsWith("/")) return name;
      // One that is not there is still no other: the shell says that it is missing.
      const path = findProgram(name, env, ["/usr/bin", "/bin"]) ?? `/usr/bin/${name}`;
      // A program that lies in the workspace may be anything.
      return isInside(path, workspace) ? undefined : path;
    });
  } catch {
    // A path that may not be read: whoever is asked will see it, and exec itself will refuse the directory.
    return undefined;
  }
}

/** Programs whose output comes from other machines. */
const FETCHING = new Set(
  `curl wget http https xh aria2c ssh scp sftp rsync ftp nc ncat netcat socat telnet lynx w3m links gh glab hub aws
   gcloud    az doctl kubectl helm docker podman psql mysql mongosh redis-cli dig nslookup host whois yt-dlp`.split(
    /\s+/,
  ),
);
const FETCHING_GIT = new Set(["clone", "fetch", "pull", "ls-remote", "remote", "submodule"]);

/** Programs that print secrets. */
const REVEALING = new Set([
  "printenv",
  "pass",
  "gpg",
  "gpg2",
  "security",
  "op",
  "bw",
  "vault",
  "secret-tool",
  "keyctl",
]);

/**
 * What a command brings into the session, as far as its text says: a program may read and fetch whatever it likes, and
 * that is not seen here.
 */
export function commandLabels(command: string): TaintLabel[] {
  const { commands } = unwrapCommand(command);
  const fetches = commands.some(
    ({ name, argv }) => FETCHING.has(name) || (name === "git" && argv.some((word) => FETCHING_GIT.has(word))),
  );
  const reveals =
    commands.some(({ name, argv }) => REVEALING.has(name) || (name === "env" && argv.length === 1)) ||
    wordsOf(command).some(isSecretName);
  return [...(fetches ? (["untrusted_input"] as const) : []), ...(reveals ? (["sensitive_data"] as const) : [])];
}

/** Names may stand inside quotes, in a program's own text: every run of what a path is made of counts. */
function wordsOf(command: string): string[] {
  return [...new Set(command.slice(0, 100_000).match(/[\w.~/-]{2,}/g) ?? [])].slice(0, 2000);
}

const INTERVAL_MS = 100;
const MAX_CHARACTERS = 16 * 1024;
/** A terminal sequence whose end has not come yet. */
const UNFINISHED_CODE = /\u001b(?:\[[0-?]{0,64}[ -/]{0,2}|[\]PX^_][^\u0007\u001b]{0,256})?$/;

/**
 * Passes on what is new in an output, at most ten times a second. A command that ends before the first time is up gives
 * no update: its result says it all. Returns how to stop, which passes on the rest.
 */
export function streamOutput(output: OutputBuffer, update: (text: string) => void, clock: Clock): () => void {
  let cursor = 0;
  let heldBack = "";
  let timer: Timer | undefined;
  let hasSent = false;

  function send(): void {
    timer = undefined;
    const news = output.since(cursor);
    cursor = news.cursor;
    const text = heldBack + news.text;
    heldBack = UNFINISHED_CODE.exec(text)?.[0] ?? "";
    const shown = stripTerminalCodes(text.slice(0, text.length - heldBack.length));
    if (shown === "") return;
    hasSent = true;
    update(shown.length > MAX_CHARACTERS ? endOf(shown) : shown);
  }

  const unsubscribe = output.subscribe(() => (timer ??= clock.after(INTERVAL_MS, send)));
  return () => {
    unsubscribe();
    timer?.cancel();
    if (hasSent) send();
  };
}

function endOf(text: string): string {
  const end = text.slice(-MAX_CHARACTERS);
  return `[… ${text.length - end.length} characters …]${end.isWellFormed() ? end : end.slice(1)}`;
}
