import { tmpdir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import type { Caller } from "../../core/call.ts";
import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock, type Timer } from "../../core/clock.ts";
import { quoteText, text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import type { Update } from "../../core/events.ts";
import { type LocalizedText, localizedText, type TextKey } from "../../core/localized-text.ts";
import { maskSecret } from "../../core/secrets/mask-secrets.ts";
import type { ToolOutput } from "../../core/result.ts";
import { nextCall } from "../../core/results/next-call.ts";
import type { CommandReading } from "../../core/signature.ts";
import { type Preview, type TaintLabel, type ToolContext, ToolKind } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import { describeAllowed, isInside, isSecretName } from "../../io/files/path-policy.ts";
import type { PausedRuns } from "../../io/sandbox/paused-runs.ts";
import type { ConfinedCommand, ConfinementProfile, GuardReport, Sandbox } from "../../io/sandbox/sandbox.ts";
import { FETCHING_PROGRAMS } from "../../io/shell/dangerous-command.ts";
import { countDeletions, readCommandWith } from "../../io/shell/command-signature.ts";
import { findProgram, findShell, isExecutableFile } from "../../io/shell/find-program.ts";
import type { OutputBuffer, SpillSink } from "../../io/shell/output-buffer.ts";
import { parseCommand, unwrapCommand } from "../../io/shell/parse-command.ts";
import type { ProcessTable, TableStartOptions } from "../../io/shell/process-table.ts";
import { scriptDigests } from "../../io/shell/script-digests.ts";
import { checkWorkingFolder } from "../../io/shell/spawn-process.ts";
import type { RunningProcess } from "../../io/shell/run-process.ts";
import { refuseEnvEntry, type SessionEnvironments } from "../../io/shell/shell-environment.ts";
import { showHiddenCharacters, stripTerminalCodes } from "../../io/shell/terminal-text.ts";
import type { InferOutput } from "../../schema/infer.ts";
import { processOwner, REPLY_RESULT_LIMITS, replyLimits, type ReplyLimits } from "./command-output.ts";
import { describeRun, EXEC_OUTPUT, type ExecDetails } from "./exec-result.ts";
import { CODEX_EXEC, convertExec, redirectPatch } from "./exec-dialects.ts";
import { findPrinted, type PrintedLines } from "./printed-files.ts";
import { findPrintedSecrets, holdsSecrets, type LookContext, type PrintedSecrets } from "./look-at-git.ts";
import { type PlanContext, planReadOnly, type ReadOnlyPlan } from "./plan-read-only.ts";
import { CommandPreviews, NEEDS_NETWORK, type ShownEffects } from "./preview-effects.ts";

export interface ExecDependencies {
  processes: ProcessTable;
  environments: SessionEnvironments;
  /** Decides which working directories are allowed. */
  files: Files;
  /** Stores output that a result does not show. The model gets the `ref` to read it. */
  openSpill?: (call: { callId: string; caller: Caller }) => SpillSink | Promise<SpillSink>;
  clock?: Clock;
  reply?: Partial<ReplyLimits>;
  /** Called with the lines of files that a command such as `cat` has shown. */
  saw?: (context: ToolContext, printed: PrintedLines) => void;
  /** The sandbox for commands, which may be switched off and on. Without one they have all rights of the user, and none runs without approval. */
  sandbox?: Sandbox;
  /** Where effects of commands are kept until a person has decided. If omitted, no command runs before its approval. */
  previews?: { stateFolder: () => string; maxMs?: number; paused?: PausedRuns };
}

/** Max time to kill a command that resists. Added to the limit, so the gate's limit never comes first. */
const KILL_MS = 15_000;
/** Shorter than the grace period in which a cancelled call can still return its output. */
const LAST_OUTPUT_MS = 1000;
const TERMINAL = { cols: 120, rows: 30 };

/** Runs a command in a shell until it ends, reaches its time limit or moves to the background. */
export function createExecTool(dependencies: ExecDependencies) {
  /** What a call without approval runs. Stored when the decision is made. */
  const plans = new WeakMap<ExecInput, string>();
  const planOf = (input: ExecInput): ReadOnlyPlan | undefined => planReadOnly(input, planContext(dependencies));
  /** The text decides whether to ask; the sandbox makes sure that it was right. Without one every command asks. */
  const isHarmless = (input: ExecInput): boolean | Promise<boolean> => {
    const plan = input.outside_sandbox ? undefined : planOf(input);
    const { sandbox } = dependencies;
    if (plan === undefined || sandbox?.engines.look === undefined) return false;
    const keep = ({ printed, hidden: hiddenFromGit }: PrintedSecrets): boolean => {
      const context = { ...planContext(dependencies), hiddenFromGit };
      const kept = hiddenFromGit.length === 0 ? plan : planReadOnly(input, context);
      if (printed !== undefined || !kept) return false;
      plans.set(input, kept.text);
      return true;
    };
    if (plan.git.length === 0) return keep({ hidden: [] });
    return findPrintedSecrets(plan.git, lookContext(sandbox, dependencies)).then(keep, () => false);
  };
  const runsByItself = (input: ExecInput): boolean => {
    const { sandbox } = dependencies;
    return sandbox?.autoAllow === true && input.outside_sandbox !== true && sandbox.engines.work !== undefined;
  };
  const planned = async (input: ExecInput): Promise<string | undefined> =>
    (await isHarmless(input)) ? plans.get(input) : undefined;
  /** A command of git that may print a secret of the history asks, although the sandbox confines it. */
  const needsApproval = (input: ExecInput): boolean | Promise<boolean> => {
    if (input.requires_approval) return true;
    const harmless = isHarmless(input);
    return typeof harmless === "boolean" ? !(harmless || runsByItself(input)) : harmless.then((is) => !is);
  };
  let kept: CommandPreviews | undefined;
  const previewsNow = (): CommandPreviews | undefined => {
    const { sandbox, previews } = dependencies;
    if (!sandbox || !previews) return undefined;
    return (kept ??= new CommandPreviews({
      ...dependencies,
      sandbox,
      stateFolder: previews.stateFolder,
      paused: previews.paused,
      historyHoldsSecrets: (repository) => holdsSecrets(repository, lookContext(sandbox, dependencies)),
      get maxMs() {
        return dependencies.previews?.maxMs;
      },
    }));
  };
  const showEffects = (input: ExecInput, context: ToolContext, cwd: string): Promise<ShownEffects> | undefined => {
    // What only reads has no effects.
    if (planOf(input) !== undefined) return undefined;
    return previewsNow()?.show(input, context, () => {
      const env = commandEnvironment(input, context, dependencies);
      const shell = findShell(env);
      const secretVariables = Object.keys(env).filter((name) => !(name in withoutSecrets(env)));
      return { argv: [shell.path, ...shell.args(input.command)], cwd, env, secretVariables };
    });
  };
  return createTool({
    name: "exec",
    title: "Run a command",
    description: {
      short: "Runs a shell command and returns its output and exit code.",
      usageNotes: [
        "Each call is a new shell: directory and variables do not carry over. Join steps with &&.",
        "Commands cannot ask questions: pass flags such as --yes, or use pty with the process tool.",
        "Long output shows its beginning, its end and lines that look like errors, and says where the rest is.",
      ],
      important: ["To read, write, edit or search files use the file tools, not cat, sed, find or grep."],
      examples: [{ input: { command: "git --version", description: "See which git is installed" } }],
    },
    kind: ToolKind.Execute,
    category: ToolCategory.RUNTIME,
    tags: ["shell", "bash", "command", "terminal", "run"],
    aliases: ["bash", "shell", "local_shell", "shell_command", "execute_command", "run_commands"],
    convertInput: convertExec,
    redirect: redirectPatch,
    dialects: {
      claude: { name: "Bash" },
      codex: CODEX_EXEC,
      gemini: {
        name: "run_shell_command",
        parameters: { working_directory: "dir_path", run_in_background: "is_background" },
      },
      openclaw: {
        name: "exec",
        parameters: { working_directory: "workdir", run_in_background: "background", yield_ms: "yieldMs" },
      },
    },
    parameterAliases: EXEC_PARAMETER_ALIASES,
    parameters: EXEC_PARAMETERS,
    concurrency: "exclusive",
    limits: {
      timeoutMs: (input, { waitForEnd }) => foregroundMs({ ...input, waitForEnd }) + KILL_MS,
      ...REPLY_RESULT_LIMITS,
    },
    labels: ["untrusted_input", "sensitive_data", "outside_effect"],
    labelsOf: (input) => {
      const isConfined = input.outside_sandbox !== true && dependencies.sandbox?.engines.work !== undefined;
      const reachesOut = !isConfined && planOf(input) === undefined;
      return [...commandLabels(input.command), ...(reachesOut ? (["outside_effect"] as const) : [])];
    },
    builtIn: {
      zh: { title: "运行命令", short: "运行 shell 命令，返回输出和退出码。" },
      isCore: true,
      knownAs: ["bash", "shell", "run_shell_command"],
      sameAs: { opencode: ["bash"], gemini: ["run_shell_command"] },
    },
    output: EXEC_OUTPUT,
    permission: (input) => {
      const named = (asks: boolean) => (asks ? "confirm" : "auto");
      const asks = needsApproval(input);
      return typeof asks === "boolean" ? named(asks) : asks.then(named);
    },
    signature: ({ command, working_directory: directory, env, stdin, outside_sandbox: outside }) => {
      const isReplaced = replacedPrograms(dependencies);
      const reading = withoutPrefixRules(readCommandWith(command, { directory, env: envOf(env), stdin, isReplaced }));
      // A rule that allows the command does not allow it outside the sandbox.
      const undetermined = outside && dependencies.sandbox ? "It would run outside the sandbox." : reading.undetermined;
      return { text: command, command: { ...reading, undetermined }, effects: { delete: countDeletions(command) } };
    },
    preview: (input, context) =>
      previewCommand(input, dependencies.files.narrow(context.allowedPaths), {
        sandbox: dependencies.sandbox,
        effectsIn: (cwd) => showEffects(input, context, cwd),
      }),
    validate: (input) => (input.command.trim() === "" ? "command: is blank" : refuseTimes(input)),
    run: async (input, context) => {
      const previews = previewsNow();
      const previewed = plans.has(input) ? undefined : await previews?.find(input, context);
      if (previews && previewed) return previews.apply(previewed, context);
      // Planned again if the input is another object than at the decision: what reads runs in `look` in any case.
      const plan = plans.get(input) ?? (await planned(input));
      return run(input, context, { ...dependencies, plan });
    },
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
  if (dependencies.plan !== undefined && context.allowedPaths) await requireReadable(input, files, dependencies);
  const cwd = files.realPath(input.working_directory ?? ".");
  const owner = processOwner(context.caller);
  const { waitForEnd } = context;
  const { limitMs, yieldMs } = runTimes({ ...input, waitForEnd });
  const startedAt = clock.monotonic();
  const { start, profile, hidden, finish } = await confinedStart(input, context, { ...dependencies, cwd, limitMs });
  const { id, process } = await processes.start(owner, start);
  giveInput(process, input);
  const stopStreaming = streamOutput(process.output, (news) => context.update(toUpdate(news)), {
    clock,
    // A caller that waits for the end shows all output.
    maxCharacters: waitForEnd ? MAX_STREAMED_CHARACTERS : undefined,
  });
  await processes.poll(owner, id, { until: "exit", waitMs: yieldMs ?? Number.POSITIVE_INFINITY, signal });
  if (!process.exit && signal.aborted) await waitAtMost(process, LAST_OUTPUT_MS, clock);
  stopStreaming();
  const stopped = !process.exit && signal.aborted;
  if (!process.exit && !stopped) process.sendToBackground();
  if (!process.exit && finish) void process.wait().then(finish);

  const described = await describeRun(
    {
      command: input.command,
      workingDirectory: files.show(cwd),
      id,
      process,
      limitMs,
      elapsedMs: clock.monotonic() - startedAt,
      stopped,
      profile,
      hidden: hidden && { paths: hidden.paths.map((path) => files.show(path)), home: hidden.home },
      unconfined: profile === undefined && !input.outside_sandbox ? dependencies.sandbox?.notice : undefined,
      changes: process.exit && (await finish?.()),
      input: input.keep_stdin_open || input.pty ? undefined : input.stdin === undefined ? "closed" : "ended",
      next: (name, values) => nextCall(context, name, values),
    },
    replyLimits(context, reply),
  );
  if (described.details?.processId === undefined) void forget(processes, { owner, id, process });
  const { saw } = dependencies;
  const { status, truncated, stdout, stderr } = described.details ?? {};
  if (saw && status === "completed" && !truncated && stdout && !stderr) {
    for (const printed of await findPrinted(input.command, { stdout, cwd, files, signal })) saw(context, printed);
  }
  return described;
}

interface ConfinedStart {
  start: TableStartOptions;
  /** Undefined: it is not confined. */
  profile?: ConfinementProfile;
  hidden?: ConfinedCommand["hidden"];
  finish?(): Promise<GuardReport>;
}

/** What runs because of its analysis runs in `look`; what a rule or a person allowed, in `work`. */
async function confinedStart(
  input: ExecInput,
  { signal, caller, callId, allowedPaths }: ToolContext,
  dependencies: ExecDependencies & Planned & { cwd: string; limitMs: number },
): Promise<ConfinedStart> {
  const { openSpill, plan, cwd, limitMs, sandbox } = dependencies;
  const takesInput = input.stdin !== undefined || input.keep_stdin_open === true;
  const terminal = input.pty === true;
  const env = commandEnvironment(input, { caller }, dependencies);
  const options = {
    cwd,
    env,
    stdin: takesInput ? "pipe" : "closed",
    pty: input.pty ? TERMINAL : undefined,
    timeoutMs: limitMs,
    signal,
    output: { separateStreams: !input.pty, openSpill: openSpill ? () => openSpill({ callId, caller }) : undefined },
  } as const;
  // Without approval, the analysed form runs, never the text as written.
  const shellCommand = plan ?? input.command;
  const profile = plan === undefined ? "work" : "look";
  const isConfined = plan !== undefined || (input.outside_sandbox !== true && sandbox?.engines.work !== undefined);
  if (!isConfined || !sandbox) return { start: { ...options, shellCommand } };
  const shell = findShell(env);
  const confined = await sandbox.confine(profile, [shell.path, ...shell.args(shellCommand)], {
    cwd,
    terminal,
    allowedPaths,
  });
  return {
    start: {
      ...options,
      env: { ...(profile === "look" || sandbox.autoAllow ? withoutSecrets(env) : env), ...confined.env },
      argv: confined.command,
      label: input.command,
      isSupervised: true,
      limits: confined.limits,
    },
    profile,
    hidden: confined.hidden,
    finish: () => confined.finish(),
  };
}

/** Without approval, no command sees a variable that may hold a secret, such as one that the session has set. */
function withoutSecrets(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([name, value]) => !maskSecret(name, value).masked));
}

function commandEnvironment(
  input: ExecInput,
  { caller }: Pick<ToolContext, "caller">,
  { environments }: ExecDependencies,
): Record<string, string> {
  const env = environments.environmentOf(caller.session, { terminal: input.pty === true });
  for (const [name, value] of Object.entries(envOf(input.env))) {
    const refusal = refuseEnvEntry(name, value);
    if (refusal) throw refusal;
    env[name] = value;
  }
  return env;
}

/** The schema allows only strings, but its inferred type does not say so. */
function envOf(env: ExecInput["env"] = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]));
}

function planContext({ environments, files }: ExecDependencies): PlanContext {
  return { files, env: environments.environmentOf(undefined) };
}

/** Whether the shell would find a program of the workspace, or another folder that commands write, under a name. */
function replacedPrograms({ environments, files }: ExecDependencies): (program: string) => boolean {
  const env = environments.environmentOf(undefined);
  const roots = files.policy.layers.flat().filter(({ path, writable }) => writable && path !== "/");
  const open = [tmpdir(), ...roots.map(({ path }) => path)];
  const isOpenFolder = (folder: string): boolean => !isAbsolute(folder) || open.some((root) => isInside(folder, root));
  // Most PATHs have no such folder.
  const folders = (env["PATH"] ?? "").split(delimiter);
  const last = folders.findLastIndex(isOpenFolder);
  const searched = folders.slice(0, last + 1);
  return (program) => {
    if (searched.length === 0) return false;
    const found = searched.find((folder) => !isAbsolute(folder) || isExecutableFile(join(folder, program)));
    return found !== undefined && isOpenFolder(found);
  };
}

function lookContext(sandbox: Sandbox, { environments, files }: ExecDependencies): LookContext {
  const env = withoutSecrets(environments.environmentOf(undefined));
  return { sandbox, policy: files.policy, env, git: findProgram("git", env, { first: ["/usr/bin", "/bin"] }) ?? "git" };
}

/** The call may narrow its paths after the decision that no approval is needed. */
async function requireReadable(input: ExecInput, files: Files, dependencies: ExecDependencies): Promise<void> {
  const { sandbox } = dependencies;
  const plan = planReadOnly(input, { ...planContext(dependencies), files, isNarrowed: true });
  if (plan?.git.length === 0) return;
  const context = sandbox && { ...lookContext(sandbox, dependencies), policy: files.policy };
  if (plan && context && (await findPrintedSecrets(plan.git, context)).printed === undefined) return;
  throw toolError("path_denied", "Permission denied: Access denied: the command reads outside the paths of this call", {
    next: `Allowed paths: ${describeAllowed(files.policy)}. Read only inside them.`,
  });
}

function giveInput(process: RunningProcess, { stdin, keep_stdin_open: keepOpen }: ExecInput): void {
  if (stdin !== undefined && stdin !== "") process.write(stdin);
  if (stdin !== undefined && !keepOpen && !process.terminal) process.endInput();
}

async function waitAtMost(process: RunningProcess, ms: number, clock: Clock): Promise<void> {
  let timer: Timer | undefined;
  await Promise.race([process.wait(), new Promise<void>((resolve) => (timer = clock.after(ms, resolve)))]);
  timer?.cancel();
}

/** Nobody needs it any more. The table keeps it until it has ended, so a shutdown still finds it. */
async function forget(
  processes: ProcessTable,
  { owner, id, process }: { owner: string; id: string; process: RunningProcess },
): Promise<void> {
  try {
    await process.wait();
    processes.clear(owner, id);
  } catch {
    // It may have been cleared already.
  }
}

/** Everything the approver decides about, with hidden characters escaped. Throws if the call would be refused. */
async function previewCommand(
  input: ExecInput,
  files: Files,
  { sandbox, effectsIn }: { sandbox: Sandbox | undefined; effectsIn(cwd: string): Promise<ShownEffects> | undefined },
): Promise<Preview> {
  const { command, description, stdin, env, working_directory: directory = "." } = input;
  const cwd = files.realPath(directory);
  const problem =
    checkWorkingFolder(cwd) ??
    Object.entries(envOf(env))
      .map(([name, value]) => refuseEnvEntry(name, value))
      .find(Boolean);
  if (problem) throw problem;
  // The command itself is in the input, and in the steps of the question.
  const facts: LocalizedText[] = [];
  const add = (key: TextKey, values?: Record<string, string>): void => void facts.push(localizedText(key, values));
  if (description) add("preview.purpose", { purpose: showHiddenCharacters(description) });
  add("preview.folder", { folder: showHiddenCharacters(cwd) });
  if (input.run_in_background) add("preview.background");
  if (sandbox) facts.push(input.outside_sandbox ? localizedText("preview.outsideSandbox") : sandbox.describe("work"));
  for (const [path, digest] of Object.entries(await scriptDigests(command, cwd)))
    add("preview.script", { path: showHiddenCharacters(path), digest });
  for (const [name, value] of Object.entries(env ?? {}))
    add("preview.variable", { name, value: showHiddenCharacters(String(value)) });
  const effects = await effectsIn(cwd);
  const hasNoNetwork = facts.some(({ key }) => key === "preview.confined");
  for (const fact of effects?.facts ?? [])
    facts.push(hasNoNetwork && fact.values?.["why"] === NEEDS_NETWORK ? localizedText("preview.needsNetwork") : fact);
  const blocks = stdin ? [`Its input:\n${quoteText(showHiddenCharacters(stdin))}`] : [];
  const content = [...(effects?.blocks ?? []), ...blocks].map((block) => text(block));
  const { output, counts, omitted, whole, unshown, hasNoEffects } = effects ?? {};
  const all = whole === undefined ? undefined : [`$ ${showHiddenCharacters(command)}`, ...blocks, "", whole].join("\n");
  return { title: "Run a command", facts, content, output, counts, omitted, unshown, whole: all, hasNoEffects };
}

/** The time parameters of `exec`. */
export interface TimeOptions {
  timeout?: number;
  yield_ms?: number;
  run_in_background?: boolean;
  /** The call waits without a limit of its own, if no other option is given. */
  waitForEnd?: boolean;
}

export interface RunTimes {
  /** The command is killed after this. */
  limitMs: number;
  /** After this the call returns and the command continues; undefined if the limit comes first. */
  yieldMs?: number;
}

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_FOREGROUND_MS = 600_000;
const DEFAULT_YIELD_MS = 10_000;
/** Max run time of a forgotten background command. */
export const MAX_BACKGROUND_MS = 24 * 3_600_000;
/** Long enough to notice a command that fails immediately. */
const BACKGROUND_START_MS = 250;

/** With a `timeout` the call waits for the end, which it also limits in the background; else the command goes on after the yield time. */
export function runTimes(options: TimeOptions): RunTimes {
  const { timeout, yield_ms: requested, run_in_background: background, waitForEnd } = options;
  if (waitForEnd && timeout === undefined && requested === undefined && !background) {
    return { limitMs: MAX_BACKGROUND_MS };
  }
  const defaultYieldMs = timeout === undefined ? DEFAULT_YIELD_MS : Number.POSITIVE_INFINITY;
  const yieldMs = background ? BACKGROUND_START_MS : (requested ?? defaultYieldMs);
  const limitMs = timeout ?? (yieldMs < DEFAULT_TIMEOUT_MS ? MAX_BACKGROUND_MS : DEFAULT_TIMEOUT_MS);
  return limitMs <= yieldMs ? { limitMs } : { limitMs, yieldMs };
}

/** How long the call can take, without the time to kill the command. */
export function foregroundMs(options: TimeOptions): number {
  const { limitMs, yieldMs } = runTimes(options);
  return yieldMs ?? limitMs;
}

/** The problem of the time parameters, if any. */
export function refuseTimes(options: TimeOptions): string | undefined {
  if (foregroundMs(options) <= MAX_FOREGROUND_MS) return undefined;
  return (
    `timeout: at most ${MAX_FOREGROUND_MS} ms in the foreground, got ${options.timeout}. ` +
    "Set run_in_background, or a yield_ms after which the command continues in the background."
  );
}

const EXEC_PARAMETERS = {
  type: "object",
  properties: {
    command: { type: "string", minLength: 1, description: "The command, as typed into bash." },
    description: {
      type: "string",
      description: "What the command does, in five to ten words, for the user.",
    },
    timeout: {
      type: "number",
      minimum: 1,
      maximum: MAX_BACKGROUND_MS,
      description:
        `Milliseconds until the command and everything it started is killed: at most ${MAX_FOREGROUND_MS} unless it runs in ` +
        `the background. Default: ${DEFAULT_TIMEOUT_MS}.`,
    },
    working_directory: {
      type: "string",
      minLength: 1,
      description: "The directory to run in, for this call only.",
    },
    run_in_background: {
      type: "boolean",
      description: "Return at once with a process id for the `process` tool. For servers and watchers.",
    },
    yield_ms: {
      type: "number",
      minimum: 0,
      maximum: MAX_FOREGROUND_MS,
      description:
        "Milliseconds after which a command that still runs continues in the background. " +
        `Default: ${DEFAULT_YIELD_MS}, or never if \`timeout\` is given.`,
    },
    pty: { type: "boolean", description: "Run on a pseudo-terminal, for programs that need one." },
    stdin: {
      type: "string",
      description: "Text for standard input, which is then closed.",
    },
    keep_stdin_open: {
      type: "boolean",
      description: "Keep standard input open for the `process` tool.",
    },
    outside_sandbox: {
      type: "boolean",
      description:
        "Run it without the sandbox, if a result says that it refused something that is needed. A person must approve it.",
    },
    requires_approval: { type: "boolean", description: "Ask a person first." },
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

/** Other parameter names that models use. */
const EXEC_PARAMETER_ALIASES = {
  cmd: "command",
  cwd: "working_directory",
  workdir: "working_directory",
  dir_path: "working_directory",
  directory: "working_directory",
  background: "run_in_background",
  is_background: "run_in_background",
  yieldMs: "yield_ms",
  yield_time_ms: "yield_ms",
  tty: "pty",
  input: "stdin",
} as const;

const FETCHING_GIT = new Set(["clone", "fetch", "pull", "ls-remote", "remote", "submodule"]);

/** Programs that print secrets. */
const REVEALING_PROGRAMS = new Set("printenv pass gpg gpg2 security op bw vault secret-tool keyctl".split(" "));

/** The taint labels of a command, as far as its text shows them. */
export function commandLabels(command: string): TaintLabel[] {
  // What was not analysed may fetch and reveal anything.
  if (parseCommand(command).problem?.kind === "tooComplex") return ["untrusted_input", "sensitive_data"];
  const { commands } = unwrapCommand(command);
  const fetches = commands.some(
    ({ name, argv }) => FETCHING_PROGRAMS.has(name) || (name === "git" && argv.some((word) => FETCHING_GIT.has(word))),
  );
  const reveals =
    commands.some(({ name, argv }) => REVEALING_PROGRAMS.has(name) || (name === "env" && argv.length === 1)) ||
    wordsOf(command).some(isSecretName);
  const labels: TaintLabel[] = [];
  if (fetches) labels.push("untrusted_input");
  if (reveals) labels.push("sensitive_data");
  return labels;
}

/** A rule that ends in `*` allows no command that names a secret: the person who wrote it did not see the name. */
function withoutPrefixRules(reading: CommandReading): CommandReading {
  // No rule allows what was not analysed.
  if (reading.problem !== undefined || !wordsOf(reading.text).some(isSecretName)) return reading;
  const parts = reading.parts.map((part) => ({
    ...part,
    forms: part.forms.map((form) => ({ ...form, exactOnly: true })),
  }));
  return { ...reading, parts };
}

/** Every sequence of path characters, because names may be inside quotes or inline code. */
function wordsOf(command: string): string[] {
  return [...new Set(command.slice(0, 100_000).match(/[\w.~/-]{2,}/g) ?? [])].slice(0, 2000);
}

const UPDATE_INTERVAL_MS = 100;
const MAX_UPDATE_CHARACTERS = 16 * 1024;
/** More than memory keeps of the output. */
const MAX_STREAMED_CHARACTERS = 2 * 1024 * 1024;
/** An incomplete terminal sequence. */
const UNFINISHED_CODE = /\u001b(?:\[[0-?]{0,64}[ -/]{0,2}|[\]PX^_][^\u0007\u001b]{0,256})?$/;

/** The text is a piece of the output, not a message about it. */
function toUpdate(output: string): Update {
  return { content: [text(output)], details: { output } };
}

/** Sends new output as updates, ten times a second. The returned function stops that and sends the rest, if any was sent. */
export function streamOutput(
  output: OutputBuffer,
  update: (text: string) => void,
  { clock, maxCharacters = MAX_UPDATE_CHARACTERS }: { clock: Clock; maxCharacters?: number },
): () => void {
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
    update(shown.length > maxCharacters ? endOf(shown) : shown);
  }

  const unsubscribe = output.subscribe(() => (timer ??= clock.after(UPDATE_INTERVAL_MS, send)));
  return () => {
    unsubscribe();
    timer?.cancel();
    if (hasSent) send();
  };
}

function endOf(text: string): string {
  const end = text.slice(-MAX_UPDATE_CHARACTERS);
  return `[… ${text.length - end.length} characters …]${end.isWellFormed() ? end : end.slice(1)}`;
}
