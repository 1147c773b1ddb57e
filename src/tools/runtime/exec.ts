import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock, type Timer } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import { type Preview, ToolKind, type ToolContext } from "../../core/tool.ts";
import type { Files } from "../../files/files.ts";
import { describeAllowed } from "../../files/path-policy.ts";
import { dangerReason } from "../../shell/danger-reason.ts";
import { refuseEnvEntry } from "../../shell/env-overlay.ts";
import type { ProcessTable, TableStartOptions } from "../../shell/process-table.ts";
import { readCommandWith } from "../../shell/read-command.ts";
import type { RunningProcess } from "../../shell/run-process.ts";
import type { SessionEnvironments } from "../../shell/session-environments.ts";
import type { SpillSink } from "../../shell/spill.ts";
import { findShell } from "../../shell/find-shell.ts";
import type { ConfinedCommand, Confinement, Confining } from "./confinement.ts";
import { commandLabels } from "./command-labels.ts";
import { EXEC_PARAMETER_ALIASES, EXEC_PARAMETERS, type ExecInput } from "./exec-parameters.ts";
import { describeRun, type ExecDetails, type Run } from "./exec-result.ts";
import { planReadOnly, type ReadOnlyCircumstances } from "./plan-read-only.ts";
import { processOwner } from "./process-owner.ts";
import { foregroundMs, refuseTimes, runTimes } from "./run-times.ts";
import { REPLY_LIMITS, type ReplyLimits } from "./shorten-output.ts";
import { showHiddenCharacters } from "../../shell/hidden-characters.ts";
import { streamOutput } from "./stream-output.ts";

export interface ExecDependencies {
  processes: ProcessTable;
  environments: SessionEnvironments;
  /** Says which working directories may be used. */
  files: Files;
  /** Keeps what a reply does not show; the `ref` of its close is told to the model as the place to read. */
  openSpill?: (call: { callId: string }) => SpillSink | Promise<SpillSink>;
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
    output: { separateStreams: !input.pty, ...(openSpill && { openSpill: () => openSpill({ callId }) }) },
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
  const commandOptions = { cwd, terminal, ...(allowedPaths ? { allowedPaths } : {}) };
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
