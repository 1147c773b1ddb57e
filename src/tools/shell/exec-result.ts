import { basename } from "node:path";
import { text } from "../../core/content.ts";
import { type ErrorCode, toFailure, toolError, type ToolFailure } from "../../core/error.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { ConfinementProfile, GuardReport } from "../../io/sandbox/sandbox.ts";
import type { Exit } from "../../io/shell/exit-status.ts";
import type { RunningProcess } from "../../io/shell/run-process.ts";
import {
  asksForInput,
  closedSpill,
  type ClosedSpill,
  commandLine,
  describeDuration,
  describeExit,
  EMPTIED_NOTE,
  meaningOf,
  type ReplyLimits,
  type RunStatus,
  shortenOutput,
  type ShortOutput,
  statusOf,
} from "./command-output.ts";
import { triedPatchProgram } from "./typed-patch.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

/** The result of a command for programs. */
export interface ExecDetails {
  status: RunStatus;
  /** Null while it runs, and if it could not be killed. */
  exitCode: number | null;
  /** Both streams in order of arrival, as shown to the model: shortened if `truncated`. */
  output: string;
  /** The separate streams, also shortened; undefined on a terminal, which has only one. */
  stdout?: string;
  stderr?: string;
  truncated: boolean;
  durationMs: number;
  timedOut: boolean;
  signal?: string;
  reason: Exit["reason"] | "running";
  /** The id for the `process` tool; undefined if nothing is left to read or kill. */
  processId?: string;
  /** Where the complete output is stored. */
  spillRef?: string;
  workingDirectory: string;
  /** Whether it ran in the sandbox. */
  confined?: boolean;
  /** It ran in a copy of the workspace before its approval, and what it did there was applied after it. */
  previewed?: boolean;
  /** What the sandbox allowed. `look`: only reading. `work`: also writing the workspace. */
  profile?: ConfinementProfile;
}

export const EXEC_OUTPUT = describeOutput<ExecDetails>({
  status: field.text("running, completed or failed"),
  exitCode: field.orNull(field.integer("Null while it runs")),
  output: field.text("Both streams in order of arrival, shortened if truncated"),
  "stdout?": field.text(),
  "stderr?": field.text(),
  truncated: field.flag(),
  durationMs: field.integer(),
  timedOut: field.flag(),
  "signal?": field.text(),
  reason: field.text("exited, signalled, timeout, aborted, killed, limit or running"),
  "processId?": field.text("For the process tool, while there is something to read or kill"),
  "spillRef?": field.text("The complete output, for read and grep"),
  workingDirectory: field.text(),
  "confined?": field.flag("It ran in the sandbox"),
  "previewed?": field.flag("It ran in a copy of the workspace before its approval"),
  "profile?": field.text("What the sandbox allowed"),
});

export interface Run {
  command: string;
  /** As shown to a model. */
  workingDirectory: string;
  id: string;
  process: RunningProcess;
  limitMs: number;
  elapsedMs: number;
  /** The call was aborted, and the command may still be ending. */
  stopped: boolean;
  /** How it was confined; undefined: not at all. */
  profile?: ConfinementProfile;
  /** What it was shown as empty, as shown to a model, and the home folder if most of it was not shown. */
  hidden?: { paths: readonly string[]; home?: string };
  /** Why it was not confined although a sandbox is configured. */
  unconfined?: string;
  /** What it changed although it must not. */
  changes?: GuardReport;
  /** The input ended before the command did: there was none, or all of it was given. Undefined: it was kept open. */
  input?: "closed" | "ended";
  /** A call in the names of the model. */
  next(name: string, input: Readonly<Record<string, unknown>>): string;
}

/** The result of a run for the model, the user and programs. */
export async function describeRun(run: Run, limits: ReplyLimits): Promise<ToolOutput<ExecDetails>> {
  const { command, process, id } = run;
  const { exit } = process;
  const snapshot = process.output.snapshot();
  const shown = shortenOutput(snapshot, limits);
  const spill = exit && shown.truncated ? closedSpill(await process.output.spillAll()) : undefined;
  const spillRef = spill?.ref;
  const needsProcess = !exit || exit.leftBehind || (shown.truncated && spillRef === undefined);
  const output = shown.text(shown.truncated ? describeRest(run, shown, spill) : "");
  const isAsking = exit?.reason === "exited" && run.input !== undefined && asksForInput(command, output, exit.exitCode);
  const durationMs = Math.round(exit?.durationMs ?? run.elapsedMs);
  const details: ExecDetails = {
    status: statusOf(command, process),
    exitCode: exit?.exitCode ?? null,
    output,
    stdout: snapshot.stdout && !process.terminal ? shortenOutput(snapshot.stdout, limits).text() : undefined,
    stderr: snapshot.stderr && !process.terminal ? shortenOutput(snapshot.stderr, limits).text() : undefined,
    truncated: shown.truncated,
    durationMs,
    timedOut: exit?.reason === "timeout",
    signal: exit?.signal ? exit.signal : undefined,
    reason: exit?.reason ?? (run.stopped ? "aborted" : "running"),
    processId: needsProcess && !run.stopped ? id : undefined,
    spillRef,
    workingDirectory: run.workingDirectory,
    confined: run.profile !== undefined,
    profile: run.profile,
  };
  const error = exit ? failureOfRun(run, exit) : run.stopped ? stoppedFailure() : undefined;
  const refusals = run.profile && exit && exit.exitCode !== 0 ? explainRefusals(output, run.profile) : [];
  const unconfined = run.unconfined === undefined ? [] : [`not confined. ${run.unconfined}`];
  const notes = [
    ...notesOn(run, exit),
    ...(isAsking ? [inputNote(run)] : []),
    ...(exit && triedPatchProgram(command, output) ? [patchNote(run)] : []),
    ...refusals,
    ...describeHidden(command, output, run.hidden),
    ...describeChanges(run.changes),
    ...unconfined,
  ].map((note) => `[${note}]`);
  const body = output.trimEnd() === "" ? (exit ? "(no output)" : "(no output yet)") : output.replace(/\n+$/, "");
  const ending = exit ? describeExit(exit) : run.stopped ? "cancelled" : `continues as ${id}`;
  return {
    content: [text([body, ...(notes.length > 0 ? [notes.join("\n")] : [])].join("\n\n"))],
    details,
    display: `$ ${commandLine(command)} — ${ending} ${exit ? "in" : "after"} ${describeDuration(durationMs)}`,
    error,
  };
}

function describeRest(run: Run, { gapAt, gapColumn }: ShortOutput, spill: ClosedSpill | undefined): string {
  const from = gapColumn > 1 ? { offset: gapAt, column: gapColumn } : { offset: gapAt };
  if (!spill) return `Continue with ${run.next("process", { action: "log", id: run.id, ...from })}.`;
  const part = spill.complete ? "" : `Only the first ${spill.bytes} bytes were kept. `;
  return `${part}Continue with ${run.next("read", { path: spill.ref, ...from })}.`;
}

function inputNote({ input }: Run): string {
  const what = input === "closed" ? "its input was closed" : "its input had ended";
  return (
    `the command seems to have asked for input, but ${what}, so it got none; ` +
    "answer with stdin, use a flag such as --yes, or start it with pty and type with the process tool"
  );
}

function patchNote({ next }: Run): string {
  const call = next("apply_patch", { patch: "*** Begin Patch …" });
  return `nothing was patched: apply_patch is a tool and not a command. Call ${call}, and run the other commands in a call of their own`;
}

function notesOn(run: Run, exit: Exit | undefined): string[] {
  const { command, id, process } = run;
  if (!exit) {
    if (run.stopped)
      return ["cancelled: the command and everything it started is being killed; its output until then is above"];
    return [
      `still running after ${describeDuration(run.elapsedMs)} as process "${id}"; read more with process ` +
        `${JSON.stringify({ action: "poll", id })}, kill it with ${JSON.stringify({ action: "kill", id })}`,
    ];
  }
  const notes: string[] = [];
  const meaning = meaningOf(command, process);
  if (exit.reason === "timeout") notes.push(timeoutNote(run));
  else if (exit.reason === "aborted") notes.push("cancelled: the command and everything it started was killed");
  else if (exit.reason === "killed") notes.push("killed from outside this call, by `process` or by a shutdown");
  else if (exit.reason === "limit")
    notes.push("killed: the command and everything it started used more than commands without approval may");
  else if (exit.signal) notes.push(`killed by the signal ${exit.signal} (exit code ${exit.exitCode})`);
  else if (exit.exitCode !== 0) notes.push(`exit code ${exit.exitCode}${meaning?.note ? `: ${meaning.note}` : ""}`);
  if (exit.hint) notes.push(exit.hint);
  if (exit.leftBehind) {
    notes.push(
      "a child of the command still runs in the background with its output open; " +
        `kill it with process ${JSON.stringify({ action: "kill", id })}`,
    );
  }
  if (process.outputEmptied) notes.push(EMPTIED_NOTE);
  if (exit.survivors.length > 0) notes.push(`processes that could not be killed: ${exit.survivors.join(", ")}`);
  return notes;
}

function timeoutNote({ limitMs }: Run): string {
  const unit = limitMs < 1000 ? "; `timeout` is in milliseconds" : "";
  return `timed out after ${describeDuration(limitMs)}: the command and everything it started was killed${unit}`;
}

/** The command is still being killed. */
function stoppedFailure(): ToolFailure {
  const next = "It may have had effects, and its output until now is included. Check them before you run it again.";
  return toFailure(toolError("cancelled", "The command was cancelled and is being killed.", { next }));
}

/** An exit code other than 0 is a failure, unless it is the result of the command. The output is included either way. */
function failureOfRun(run: Run, exit: Exit): ToolFailure | undefined {
  if (meaningOf(run.command, run.process)?.completed) return undefined;
  const { code, message, next } = explainFailure(run, exit);
  const data = { exitCode: exit.exitCode, reason: exit.reason, signal: exit.signal || undefined };
  return toFailure(toolError(code, message, { next, data }));
}

function explainFailure({ limitMs }: Run, exit: Exit): { code: ErrorCode; message: string; next: string } {
  switch (exit.reason) {
    case "timeout":
      return {
        code: "timeout",
        message: `The command timed out after ${describeDuration(limitMs)} and was killed.`,
        next:
          "Its output until then is included. Check its effects before you run it again; set a longer `timeout` in " +
          "milliseconds, or `run_in_background`.",
      };
    case "aborted":
      return {
        code: "cancelled",
        message: "The command was cancelled and killed.",
        next: "Its output until then is included. Check its effects before you run it again.",
      };
    case "killed":
      return {
        code: "cancelled",
        message: "The command was killed from outside this call.",
        next: "Its output until then is included. Run it again only if it is still needed.",
      };
    case "limit":
      return {
        code: "failed",
        message: `The command was killed. ${exit.hint ?? ""}`.trim(),
        next: "Commands that run without approval may not use more. Its output until then is included.",
      };
    case "signalled":
      return {
        code: "exit_code",
        message: `The command was killed by the signal ${exit.signal} (exit code ${exit.exitCode}).`,
        next: exit.hint ?? "Read its output for the cause.",
      };
    case "exited":
      return {
        code: "exit_code",
        message: `The command failed with exit code ${exit.exitCode}.`,
        next: exit.hint ?? "Read its output for the cause, then correct the command.",
      };
  }
}

/** Messages of programs that the sandbox has refused something, and what they tried. */
const REFUSALS: readonly { pattern: RegExp; tried: (found: RegExpMatchArray) => string }[] = [
  {
    // A path is tried at its beginning only: at each character, a long one would take too long.
    pattern:
      /(?<![^\s'"‘’:])([/.][^\s'"’:]*)['"’]?: (?:Read-only file system|Permission denied|Operation not permitted)/i,
    tried: ([, path]) => `to use ${path}`,
  },
  { pattern: /(?:EROFS|EACCES|EPERM): [\w\s-]+, \w+ '([^']+)'/, tried: ([, path]) => `to use ${path}` },
  {
    pattern: /Could not resolve (?:host|proxy)(?: name)?:? ?'?([\w.-]+)?/i,
    tried: ([, host]) => `to reach ${host ?? "the network"}`,
  },
  { pattern: /(?:EAI_AGAIN|ENOTFOUND) ([\w.-]+)/, tried: ([, host]) => `to reach ${host}` },
  {
    pattern: /Temporary failure in name resolution|Network is unreachable|ENETUNREACH|Name or service not known/i,
    tried: () => "to reach the network",
  },
  {
    pattern: /socket: (?:Permission denied|EACCES)|connect EACCES|listen EACCES/i,
    tried: () => "to open a connection",
  },
  {
    pattern: /Read-only file system|Permission denied|Operation not permitted|\bE(?:ACCES|PERM|ROFS)\b/i,
    tried: () => "something that it does not allow",
  },
];

/** If the sandbox is probably why a command failed: what it tried, and how to request that. */
function explainRefusals(output: string, profile: ConfinementProfile): string[] {
  const tail = output.slice(-20_000);
  for (const { pattern, tried } of REFUSALS) {
    const found = tail.match(pattern);
    if (!found) continue;
    const limits =
      profile === "look"
        ? "it ran without approval, so it could only read. An allow rule such as Bash(COMMAND) lets it write the workspace"
        : "it may write only the workspace and has no network";
    return [
      `the sandbox refused it: the command tried ${tried(found)}; ${limits}. ` +
        "If more is needed, call again with outside_sandbox: true; a person must approve that",
    ];
  }
  return [];
}

/** What a command printed about hidden files is not how they are. */
function describeHidden(
  command: string,
  output: string,
  { paths, home }: NonNullable<Run["hidden"]> = { paths: [] },
): string[] {
  const notes: string[] = [];
  const isSearched = READS_FOLDERS.test(command);
  const printed = paths.filter((path) => isSearched || namesFile(output, basename(path)));
  if (printed.length > 0) {
    const more = printed.length > MAX_NAMED ? ` and ${printed.length - MAX_NAMED} more` : "";
    notes.push(`hidden from this command, and shown to it as empty: ${printed.slice(0, MAX_NAMED).join(", ")}${more}`);
  }
  if (home !== undefined && output.includes(`${home}/`) && /No such file|ENOENT/.test(output))
    notes.push(`only installed tools and settings in ${home} are shown to this command; other files may exist`);
  return notes;
}

/** It reads every file of a folder, also those that it is shown as empty. */
const READS_FOLDERS = /\b[ef]?grep\b[^|;&\n]*\s-(?:[a-zA-Z]*[rR]|-(?:dereference-)?recursive\b)/;

/** Whether a line ends with the name, as in lists of files. */
function namesFile(text: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.includes(name) && new RegExp(`(?:^|[\\s/'"])${escaped}/?['"]?$`, "m").test(text);
}

const MAX_NAMED = 5;

function describeChanges(report: GuardReport = { restored: [], removed: [] }): string[] {
  const { restored, removed, keptIn, executed = [] } = report;
  const named = (paths: readonly string[]): string =>
    paths.slice(0, MAX_NAMED).join(", ") + (paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "");
  const notes: string[] = [];
  if (restored.length > 0) notes.push(`the command changed protected files, which were restored: ${named(restored)}`);
  if (removed.length > 0) notes.push(`the command created protected files, which were removed: ${named(removed)}`);
  if (executed.length > 0) {
    const reasons = [...new Set(executed.map(({ why }) => why))].join("; ");
    const paths = named(executed.map(({ path }) => path));
    notes.push(`the command changed files that programs execute by themselves: ${paths} (${reasons})`);
  }
  if (keptIn !== undefined) notes.push(`what it wrote there is kept in ${keptIn}`);
  return notes;
}
