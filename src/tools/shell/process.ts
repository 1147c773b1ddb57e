import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { countOf } from "../../core/results/count-of.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOutput } from "../../core/result.ts";
import { continueBy, nextCall } from "../../core/results/next-call.ts";
import { windowOf } from "../../core/results/text-window.ts";
import { type ToolContext, type ToolDialect, ToolKind } from "../../core/tool.ts";
import { readCommand } from "../../io/shell/command-signature.ts";
import type { LinePage } from "../../io/shell/output-buffer.ts";
import type { PollResult, ProcessInfo, ProcessTable } from "../../io/shell/process-table.ts";
import type { RunningProcess } from "../../io/shell/run-process.ts";
import { showHiddenCharacters, stripTerminalCodes } from "../../io/shell/terminal-text.ts";
import type { InferOutput } from "../../schema/infer.ts";
import {
  closedSpill,
  commandLine,
  describeDuration,
  describeExit,
  EMPTIED_NOTE,
  meaningOf,
  processOwner,
  REPLY_RESULT_LIMITS,
  replyLimits,
  type ReplyLimits,
  type RunStatus,
  shortenOutput,
  statusOf,
} from "./command-output.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";
import { flagOf, ForeignInput } from "../../core/adopt/foreign-input.ts";

export interface ProcessDependencies {
  processes: ProcessTable;
  clock?: Clock;
  reply?: Partial<ReplyLimits>;
}

const POLL_MS = 5000;
/** Long enough for a typical program to respond to input. */
const RESPONSE_MS = 500;
/** Max time to kill a process that resists. */
const KILL_MS = 15_000;

/** Controls commands that `exec` left running. A caller sees only the processes of its own session. */
export function createProcessTool(dependencies: ProcessDependencies) {
  const { processes } = dependencies;
  return createTool({
    name: "process",
    title: "Background processes",
    description: {
      short: "Lists, reads, types into and kills the processes that exec left running in the background.",
      usageNotes: [
        "To wait for the end of a command, poll with a wait_ms; do not poll in a tight loop.",
        "To type, start the command with pty or keep_stdin_open. C-c (send-keys) interrupts any process.",
        "Finished processes can be read for half an hour.",
      ],
      examples: [{ input: { action: "list" }, description: "See what is running" }],
    },
    kind: ToolKind.Execute,
    category: ToolCategory.RUNTIME,
    tags: ["shell", "background", "terminal", "session"],
    dialects: {
      codex: CODEX_PROCESS,
      openclaw: { name: "process", parameters: { id: "sessionId", wait_ms: "timeout" } },
    },
    aliases: PART_NAMES,
    convertInput: convertProcess,
    parameterAliases: PROCESS_PARAMETER_ALIASES,
    parameters: PROCESS_PARAMETERS,
    limits: { timeoutMs: ({ wait_ms: wait = POLL_MS }) => wait + KILL_MS, ...REPLY_RESULT_LIMITS },
    // Output was labelled when exec started the process.
    labels: ["outside_effect"],
    labelsOf: (input) => (typesSomething(input) ? ["outside_effect"] : []),
    builtIn: {
      zh: { title: "后台进程", short: "列出、读取、输入和结束 exec 留在后台运行的进程。" },
      isCore: true,
      sameAs: { opencode: ["bash"], gemini: ["run_shell_command"] },
      partlyKnownAs: ["BashOutput", "TaskOutput", "KillBash", "KillShell", "TaskStop"],
    },
    output: PROCESS_OUTPUT,
    // Text typed into a shell is a new command. All other actions only read or kill what was permitted.
    permission: (input) => (typesSomething(input) ? "confirm" : "auto"),
    signature: (input) => {
      const { action, id, data, keys } = input;
      const words = [action, id, data, keys?.join(" ")].filter(Boolean).join(" ");
      // It may be typed into a shell, so deny rules for commands apply.
      return typesSomething(input) && data ? { text: words, command: readCommand(data) } : words;
    },
    rule: () => "",
    preview: async ({ action, id = "", data, keys }, { caller }) => {
      const line = action === "submit" ? `${data ?? ""}\n` : data;
      processes.checkInput(processOwner(caller), id, { data: line, keys });
      return {
        title: `Process ${showHiddenCharacters(id)}: ${action}`,
        content: [
          text(
            [
              `to: ${showHiddenCharacters(labelOf(processes, processOwner(caller), id))}`,
              ...(keys ? [`keys: ${showHiddenCharacters(keys.join(" "))}`] : []),
              ...(data === undefined ? [] : ["text:", showHiddenCharacters(data)]),
            ].join("\n"),
          ),
        ],
      };
    },
    validate: refuseProcessInput,
    run: (input, context) => run(input, context, dependencies),
  });
}

async function run(input: ProcessInput, context: ToolContext, dependencies: ProcessDependencies): Promise<ToolOutput> {
  const { processes, clock = systemClock } = dependencies;
  const limits = replyLimits(context, dependencies.reply);
  const owner = processOwner(context.caller);
  const { action, id = "", data, keys = [], wait_ms: waitMs } = input;
  const { signal } = context;

  /** The output after input was sent. */
  const outputAfterInput = async (): Promise<ToolOutput> =>
    describeNewOutput(
      await processes.poll(owner, id, { waitMs: waitMs ?? RESPONSE_MS, until: "exit", signal }),
      processes.get(owner, id).process,
      { limits, now: clock.now(), context },
    );

  switch (action) {
    case "list":
      return describeList(
        processes.list(owner).map((info) => ({ info, process: processes.get(owner, info.id).process })),
        clock.now(),
      );
    case "poll": {
      const until = waitMs === undefined ? "output" : "exit";
      const news = await processes.poll(owner, id, { waitMs: waitMs ?? POLL_MS, until, signal });
      return describeNewOutput(news, processes.get(owner, id).process, { limits, now: clock.now(), context });
    }
    case "log": {
      const { offset, limit, column } = input;
      const page = processes.log(owner, id, { offset, limit });
      return describeLog(page, { ...processes.get(owner, id), column, limits, context });
    }
    case "write":
      processes.write(owner, id, data ?? "", { eof: input.eof ?? false });
      return outputAfterInput();
    case "send-keys":
    case "send_keys":
      // Here text is literal, even if it is the name of a key.
      if (data !== undefined) processes.write(owner, id, data);
      if (keys.length > 0) processes.sendKeys(owner, id, keys);
      return outputAfterInput();
    case "submit":
      processes.submit(owner, id, data);
      return outputAfterInput();
    case "paste":
      processes.paste(owner, id, data ?? "", { bracketed: input.bracketed });
      return outputAfterInput();
    case "kill": {
      const hadEnded = processes.get(owner, id).process.exit !== undefined;
      await processes.kill(owner, id);
      const { info, process } = processes.get(owner, id);
      return describeState(
        info,
        process,
        hadEnded ? "had already ended; what it left behind was killed" : "was killed",
      );
    }
    case "clear": {
      const cleared = processes.clear(owner, input.id);
      const summary = `${cleared} finished ${cleared === 1 ? "process" : "processes"} forgotten.`;
      return { content: summary, display: summary, details: { cleared } };
    }
    case "remove": {
      const label = labelOf(processes, owner, id);
      await processes.remove(owner, id);
      return {
        content: `Process "${id}" (${commandLine(label)}) was killed and forgotten.`,
        details: { id, removed: true },
      };
    }
  }
}

function labelOf(processes: ProcessTable, owner: string, id: string): string {
  return processes.list(owner).find((info) => info.id === id)?.label ?? `no process "${id}"`;
}

const PROCESS_PARAMETERS = {
  type: "object",
  properties: {
    action: {
      type: "string",
      enum: ["list", "poll", "log", "write", "send-keys", "send_keys", "submit", "paste", "kill", "clear", "remove"],
      description:
        "poll: new output. log: lines of the output. write: literal text. send-keys: named keys. submit: text, then Enter. " +
        "paste: text as one paste. kill: also what it started. clear: forget finished ones. remove: kill it, then forget it.",
    },
    id: { type: "string", description: "The process id that `exec` returned. Not for list and clear." },
    data: { type: "string", description: "The text to send; for send-keys, before the keys." },
    keys: {
      type: "array",
      items: { type: "string" },
      description: "For send-keys, such as Enter, C-c, Up, Tab, Escape, or plain text.",
    },
    eof: { type: "boolean", description: "write: close the input afterwards." },
    bracketed: { type: "boolean", description: "paste: use bracketed paste on a terminal. Default: true." },
    offset: {
      type: "integer",
      minimum: 0,
      description: "log: the first line, counted from 1. Default: the last lines.",
    },
    limit: { type: "integer", minimum: 1, maximum: 2000, description: "log: how many lines. Default: 200." },
    column: { type: "integer", minimum: 1, description: "log: the first character of the first line, from 1." },
    wait_ms: {
      type: "number",
      minimum: 0,
      maximum: 600_000,
      description:
        "How long to wait for the end. Without it, poll returns at the first new output, or after 5000 ms, and input after " +
        "500 ms.",
    },
  },
  required: ["action"],
  additionalProperties: false,
} as const;

type ProcessInput = InferOutput<typeof PROCESS_PARAMETERS>;

/** `process` as Codex shows it: only what types and reads. */
const CODEX_PROCESS: ToolDialect = {
  name: "write_stdin",
  description: {
    short: "Types into a session that exec_command left running, and returns its new output.",
    usageNotes: ["Without chars it only waits for output. \\u0003 interrupts the command."],
    examples: [{ input: { session_id: "1", chars: "yes\n" } }],
  },
  schema: {
    type: "object",
    properties: {
      session_id: { type: "string", description: "The id that exec_command returned." },
      chars: { type: "string", description: "The text to type. Empty: only wait for output." },
      yield_time_ms: { type: "number", minimum: 0, maximum: 600_000, description: "Milliseconds to wait for output." },
    },
    required: ["session_id"],
    additionalProperties: false,
  },
};

/** Claude Code has a tool for each of these actions. */
const READING_NAMES = ["BashOutput", "TaskOutput"];
const KILLING_NAMES = ["KillBash", "KillShell", "TaskStop"];
const PART_NAMES = [...READING_NAMES, ...KILLING_NAMES];

/** In other clients the name of the tool is the action. */
function convertProcess(input: Record<string, unknown>, calledAs: string): ForeignInput {
  const foreign = new ForeignInput(input);
  foreign.drop("max_output_tokens", "results have their own limit and say where the rest is");
  if (foreign.has("action")) {
    if (PART_NAMES.includes(calledAs))
      foreign.problems.push(`action: ${calledAs} takes none; to send input, call process`);
    return foreign;
  }
  if (typeof input["id"] === "number") input["id"] = String(input["id"]);
  if (calledAs === "write_stdin") convertTyping(foreign);
  if (KILLING_NAMES.includes(calledAs)) foreign.set("action", "kill", calledAs);
  if (READING_NAMES.includes(calledAs)) {
    foreign.set("action", "poll", calledAs);
    foreign.refuse("filter", "All new output is returned.");
    // Waits for the end by default.
    if (foreign.has("block") && flagOf(foreign.take("block")) === false) foreign.input["wait_ms"] = 0;
  }
  return foreign;
}

/** Codex's `write_stdin`: empty text polls, Ctrl-C interrupts, any other text is typed. */
function convertTyping(foreign: ForeignInput): void {
  const data = foreign.input["data"] ?? "";
  if (data === "\u0003") {
    foreign.take("data");
    foreign.set("action", "send-keys", "chars");
    foreign.set("keys", ["C-c"], "chars");
  } else {
    if (data === "") foreign.take("data");
    foreign.set("action", data === "" ? "poll" : "write", "chars");
  }
}

// oxfmt-ignore
/** Other parameter names that models use. */
const PROCESS_PARAMETER_ALIASES = {
  process_id: "id", processId: "id", session_id: "id", sessionId: "id", session: "id", bash_id: "id", shell_id: "id",
  task_id: "id", text: "data", input: "data", chars: "data", literal: "data", timeout: "wait_ms", timeout_ms: "wait_ms",
  waitMs: "wait_ms", yield_ms: "wait_ms", yieldMs: "wait_ms", yield_time_ms: "wait_ms",
} as const;

/** The parameter that is missing for the action, if any. */
function refuseProcessInput({ action, id, data, keys, eof }: ProcessInput): string | undefined {
  if (!id && action !== "list" && action !== "clear")
    return `id: required for "${action}"; "list" shows the known ones`;
  if (action === "write" && data === undefined && !eof) return 'data: required for "write", unless eof is true';
  if (action === "paste" && data === undefined) return 'data: required for "paste"';
  if ((action === "send-keys" || action === "send_keys") && data === undefined && !keys?.length) {
    return `keys: required for "${action}"`;
  }
  return undefined;
}

/** Whether the action sends new input, which was not part of the permitted start. */
function typesSomething({ action, data = "", keys = [] }: ProcessInput): boolean {
  if (action === "submit" || action === "paste") return true;
  if (action !== "write" && action !== "send-keys" && action !== "send_keys") return false;
  return !ONLY_CTRL_C_D.test(data) || keys.some((key) => !/^(?:c|ctrl)[-+][cd]$/i.test(key));
}

/** Ctrl-C and Ctrl-D only end a process, like `kill`. */
const ONLY_CTRL_C_D = /^[\u0003\u0004]*$/;

/** The state of a process in the details of every action. */
interface ProcessState {
  id: string;
  status: RunStatus;
  /** Null while it runs. */
  exitCode: number | null;
  reason: string;
  signal?: string;
  command: string;
}

const STATE_FIELDS = {
  id: field.text(),
  status: field.text("running, completed or failed"),
  exitCode: field.orNull(field.integer("Null while it runs")),
  reason: field.text("exited, signalled, timeout, aborted, killed or running"),
  "signal?": field.text(),
  command: field.text(),
};

const PROCESS_OUTPUT = describeOutput({
  "processes?": field.list(
    field.object({
      ...STATE_FIELDS,
      pid: field.integer(),
      workingDirectory: field.text(),
      startedAt: field.number("Unix milliseconds"),
      durationMs: field.integer(),
      terminal: field.flag(),
      outputBytes: field.integer(),
    }),
    "Of list",
  ),
  "id?": STATE_FIELDS.id,
  "status?": STATE_FIELDS.status,
  "exitCode?": STATE_FIELDS.exitCode,
  "reason?": STATE_FIELDS.reason,
  "signal?": STATE_FIELDS["signal?"],
  "command?": STATE_FIELDS.command,
  "output?": field.text("New output, or lines of the output"),
  "truncated?": field.flag(),
  "running?": field.flag(),
  "missedBytes?": field.integer("Output that is no longer in memory"),
  "durationMs?": field.integer(),
  "totalLines?": field.integer(),
  "nextOffset?": field.integer(),
  "nextColumn?": field.integer("Where to continue in a long line"),
  "missing?": field.object({ from: field.integer(), to: field.integer() }, "Lines that are no longer in memory"),
  "spillRef?": field.text("The complete output, for read and grep"),
  "survivors?": field.list(field.integer(), "Processes that could not be killed"),
  "cleared?": field.integer("Forgotten processes"),
  "removed?": field.flag(),
});

interface Known {
  info: ProcessInfo;
  process: RunningProcess;
}

function describeList(known: readonly Known[], now: number): ToolOutput {
  const rows = known.map(({ info, process }) => ({
    ...stateOf(info, process),
    pid: info.pid,
    workingDirectory: info.cwd,
    startedAt: info.startedAt,
    durationMs: durationOf(info, now),
    terminal: info.terminal,
    outputBytes: info.totalBytes,
  }));
  const lines = known.map(
    ({ info, process }) => `${info.id}  ${describeProcess(info, process, now)}  ${commandLine(info.label)}`,
  );
  const running = rows.filter(({ status }) => status === "running").length;
  return {
    content: lines.join("\n") || "No process is running in the background.",
    details: { processes: rows },
    display: `${running} running, ${rows.length - running} finished`,
  };
}

/** The output since the last poll and the state of the process. */
function describeNewOutput(
  news: PollResult,
  process: RunningProcess,
  { limits, now, context }: { limits: ReplyLimits; now: number; context: ToolContext },
): ToolOutput {
  const { id, label, missedBytes } = news;
  const bytes = Buffer.byteLength(news.text);
  const shown = shortenOutput({ head: news.text, tail: "", omittedBytes: 0, totalBytes: bytes }, limits);
  const output = shown.text(`Continue with ${nextCall(context, "process", { action: "log", id, offset: 1 })}.`);
  const state = describeProcess(news, process, now);
  const body = output.trimEnd() === "" ? "(no new output)" : output.replace(/\n+$/, "");
  const note = process.outputEmptied ? EMPTIED_NOTE : meaningOf(label, process)?.note;
  return {
    content: `${body}\n\n[process "${id}": ${state}${note ? `: ${note}` : ""}]${hintOf(process)}`,
    details: {
      ...stateOf(news, process),
      running: news.running,
      output,
      truncated: shown.truncated || missedBytes > 0,
      missedBytes,
      durationMs: durationOf(news, now),
    },
    display: `${id}: ${state}, ${countOf(bytes, "byte")} new`,
  };
}

interface LogView extends Known {
  column?: number;
  limits: ReplyLimits;
  context: ToolContext;
}

function describeLog(page: LinePage, { info, process, column, limits, context }: LogView): ToolOutput {
  const { lines, totalLines, missing } = page;
  const whole = lines.map((line) => stripTerminalCodes(line.text)).join("\n");
  const { text: output, next } = windowOf(whole, { column, maxTokens: limits.maxTokens });
  const nextOffset = next ? lines[next.offset - 1]?.number : page.nextOffset;
  const nextColumn = next?.column;
  const spill = missing && closedSpill(process.output.snapshot().spill);
  const from = lines[0]?.number ?? missing?.from;
  const to = nextOffset === undefined ? totalLines : nextColumn === undefined ? nextOffset - 1 : nextOffset;
  const notes = [
    from === undefined ? `no lines here; there are ${totalLines} in total` : `lines ${from} to ${to} of ${totalLines}`,
    ...(missing ? [`lines ${missing.from} to ${missing.to} are no longer in memory`] : []),
    ...(missing && spill
      ? [`Continue with ${nextCall(context, "read", { path: spill.ref, offset: missing.from })}`]
      : []),
    ...(process.outputEmptied ? [EMPTIED_NOTE] : []),
  ];
  if (nextOffset !== undefined) {
    const from = nextColumn === undefined ? { offset: nextOffset } : { offset: nextOffset, column: nextColumn };
    notes.push(continueBy(context, from));
  }
  return {
    content: `${output ? `${output}\n\n` : ""}[${notes.join("; ")}]`,
    details: {
      ...stateOf(info, process),
      output,
      totalLines,
      nextOffset,
      nextColumn,
      missing,
      spillRef: spill?.ref,
      truncated: next !== undefined || missing !== undefined,
    },
    display: `${info.id}: ${notes[0]}`,
  };
}

/** The state of a process after an action. */
function describeState(info: ProcessInfo, process: RunningProcess, what: string): ToolOutput {
  const survivors = process.exit?.survivors ?? [];
  const left = survivors.length > 0 ? ` These could not be killed: ${survivors.join(", ")}.` : "";
  return {
    content: [text(`Process "${info.id}" (${commandLine(info.label)}) ${what}.${left}`)],
    details: { ...stateOf(info, process), survivors },
    display: `${info.id} ${what}`,
  };
}

function stateOf({ id, label }: ProcessInfo, process: RunningProcess): ProcessState {
  const { exit } = process;
  return {
    id,
    status: statusOf(label, process),
    exitCode: exit?.exitCode ?? null,
    reason: exit?.reason ?? "running",
    signal: exit?.signal ?? undefined,
    command: label,
  };
}

function describeProcess(info: ProcessInfo, process: RunningProcess, now: number): string {
  const duration = describeDuration(durationOf(info, now));
  return process.exit
    ? `${statusOf(info.label, process)}, ${describeExit(process.exit)} after ${duration}`
    : `running for ${duration}`;
}

function durationOf({ startedAt, endedAt, exit }: ProcessInfo, now: number): number {
  return Math.max(0, Math.round(exit?.durationMs ?? (endedAt ?? now) - startedAt));
}

function hintOf({ exit }: RunningProcess): string {
  return exit?.hint ? `\n[${exit.hint}]` : "";
}
