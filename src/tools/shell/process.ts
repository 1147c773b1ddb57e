import { ToolCategory } from "../../core/category.ts";
import { type Clock, systemClock } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import type { ToolOutput } from "../../core/result.ts";
import { type ToolContext, ToolKind } from "../../core/tool.ts";
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
  describeSpill,
  meaningOf,
  processOwner,
  REPLY_LIMITS,
  type ReplyLimits,
  type RunStatus,
  shortenOutput,
  statusOf,
} from "./command-output.ts";

export interface ProcessDependencies {
  processes: ProcessTable;
  clock?: Clock;
  reply?: Partial<ReplyLimits>;
}

const POLL_MS = 5000;
/** Long enough for most programs to answer what was typed. */
const ANSWER_MS = 500;
/** What ending a process that resists may take. */
const ENDING_MS = 15_000;

/** Goes on with commands that `exec` left running. A caller sees the processes of its own session only. */
export function createProcessTool(dependencies: ProcessDependencies) {
  const { processes } = dependencies;
  return createTool({
    name: "process",
    title: "Background processes",
    description: {
      short: "Lists, reads, types into and ends the processes that exec left running in the background.",
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
    dialects: { openclaw: { name: "process", parameters: { id: "sessionId", wait_ms: "timeout" } } },
    parameterAliases: PROCESS_PARAMETER_ALIASES,
    parameters: PROCESS_PARAMETERS,
    limits: { timeoutMs: ({ wait_ms: wait = POLL_MS }) => wait + ENDING_MS },
    // What a process says was labelled when exec started it.
    labels: ["outside_effect"],
    labelsOf: (input) => (typesSomething(input) ? ["outside_effect"] : []),
    origin: { type: "builtin" },
    // What is typed into a shell is a command that nobody has seen yet; the rest only looks at or ends what was permitted.
    permission: (input) => (typesSomething(input) ? "confirm" : "auto"),
    signature: (input) => {
      const { action, id, data, keys } = input;
      const words = [action, id, data, keys?.join(" ")].filter(Boolean).join(" ");
      // It may be typed into a shell: what is forbidden there is forbidden here.
      return typesSomething(input) && data ? { text: words, command: readCommand(data) } : words;
    },
    rule: () => "",
    preview: async ({ action, id = "", data, keys }, { caller }) => ({
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
    }),
    validate: refuseProcessInput,
    run: (input, context) => run(input, context, dependencies),
  });
}

async function run(input: ProcessInput, context: ToolContext, dependencies: ProcessDependencies): Promise<ToolOutput> {
  const { processes, clock = systemClock } = dependencies;
  const limits = { ...REPLY_LIMITS, ...dependencies.reply };
  const owner = processOwner(context.caller);
  const { action, id = "", data, keys = [], wait_ms: waitMs } = input;
  const { signal } = context;

  /** Input is answered with what came of it. */
  const answer = async (): Promise<ToolOutput> =>
    describeNewOutput(
      await processes.poll(owner, id, { waitMs: waitMs ?? ANSWER_MS, until: "exit", signal }),
      processes.get(owner, id).process,
      { limits, now: clock.now() },
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
      return describeNewOutput(news, processes.get(owner, id).process, { limits, now: clock.now() });
    }
    case "log": {
      const { offset, limit } = input;
      const page = processes.log(owner, id, {
        offset,
        limit,
      });
      return describeLog(page, { ...processes.get(owner, id), limits });
    }
    case "write":
      processes.write(owner, id, data ?? "", { eof: input.eof ?? false });
      return answer();
    case "send-keys":
    case "send_keys":
      // Text is text here, also where it spells the name of a key.
      if (data !== undefined) processes.write(owner, id, data);
      if (keys.length > 0) processes.sendKeys(owner, id, keys);
      return answer();
    case "submit":
      processes.submit(owner, id, data);
      return answer();
    case "paste":
      processes.paste(owner, id, data ?? "", input.bracketed === undefined ? {} : { bracketed: input.bracketed });
      return answer();
    case "kill": {
      const hadEnded = processes.get(owner, id).process.exit !== undefined;
      await processes.kill(owner, id);
      const { info, process } = processes.get(owner, id);
      return describeState(
        info,
        process,
        hadEnded ? "had ended before; what it left behind is ended too" : "was ended",
      );
    }
    case "clear": {
      const cleared = processes.clear(owner, input.id);
      const words = `${cleared} finished ${cleared === 1 ? "process" : "processes"} forgotten.`;
      return { content: words, display: words, details: { cleared } };
    }
    case "remove": {
      const label = labelOf(processes, owner, id);
      await processes.remove(owner, id);
      return {
        content: `Process "${id}" (${commandLine(label)}) is ended and forgotten.`,
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
        "list: all of yours. poll: what is new. log: lines of the output. write: text as it is. send-keys: named keys. " +
        "submit: text, then Enter. paste: text in one piece. kill: end it and all it started. clear: forget finished " +
        "ones. remove: end it if need be and forget it.",
    },
    id: { type: "string", description: "The process id that `exec` answered with. Needed by all but list and clear." },
    data: { type: "string", description: "The text for write, submit and paste; for send-keys: text before the keys." },
    keys: {
      type: "array",
      items: { type: "string" },
      description: "The keys for send-keys, such as Enter, C-c, Up, Tab, Escape, or plain text.",
    },
    eof: { type: "boolean", description: "write: close the input afterwards." },
    bracketed: { type: "boolean", description: "paste: mark it as pasted, on a terminal. Default: true." },
    offset: {
      type: "integer",
      minimum: 0,
      description: "log: the first line, counted from 1. Absent: the last lines.",
    },
    limit: { type: "integer", minimum: 1, maximum: 2000, description: "log: how many lines. Default: 200." },
    wait_ms: {
      type: "number",
      minimum: 0,
      maximum: 600_000,
      description:
        "poll, and whatever sends input: how long to wait for the end before answering. A poll without it answers when " +
        "there is new output, after 5000 at the latest; 500 after input.",
    },
  },
  required: ["action"],
  additionalProperties: false,
} as const;

type ProcessInput = InferOutput<typeof PROCESS_PARAMETERS>;

/** Names that models of other families use. */
const PROCESS_PARAMETER_ALIASES = {
  process_id: "id",
  processId: "id",
  session_id: "id",
  sessionId: "id",
  session: "id",
  text: "data",
  input: "data",
  chars: "data",
  literal: "data",
  timeout: "wait_ms",
  timeout_ms: "wait_ms",
  waitMs: "wait_ms",
  yield_ms: "wait_ms",
  yieldMs: "wait_ms",
} as const;

/** What is missing for the action, if something is. */
function refuseProcessInput({ action, id, data, keys, eof }: ProcessInput): string | undefined {
  if (!id && action !== "list" && action !== "clear") return `id: needed for "${action}"; "list" shows the known ones`;
  if (action === "write" && data === undefined && !eof) return 'data: needed for "write", unless eof is true';
  if (action === "paste" && data === undefined) return 'data: needed for "paste"';
  if ((action === "send-keys" || action === "send_keys") && data === undefined && !keys?.length) {
    return `keys: needed for "${action}"`;
  }
  return undefined;
}

/** Whether the action puts something into a process that its start, which was permitted, did not say. */
function typesSomething({ action, data = "", keys = [] }: ProcessInput): boolean {
  if (action === "submit" || action === "paste") return true;
  if (action !== "write" && action !== "send-keys" && action !== "send_keys") return false;
  return !ENDINGS.test(data) || keys.some((key) => !/^(?:c|ctrl)[-+][cd]$/i.test(key));
}

/** Ctrl-C and Ctrl-D only end things, as `kill` does. */
const ENDINGS = /^[\u0003\u0004]*$/;

/** What a program learns of a process, whatever was done with it. */
export interface ProcessState {
  id: string;
  status: RunStatus;
  /** Null while it runs. */
  exitCode: number | null;
  reason: string;
  signal?: string;
  command: string;
}

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
  const lines = rows.map((row, at) => {
    const { info, process } = known[at] as Known;
    return `${row.id}  ${describeProcess(info, process, now)}  ${commandLine(row.command)}`;
  });
  const running = rows.filter(({ status }) => status === "running").length;
  return {
    content: lines.join("\n") || "No process was left running in the background.",
    details: { processes: rows },
    display: `${running} running, ${rows.length - running} finished`,
  };
}

/** What came since somebody last looked, and how the process is now. */
function describeNewOutput(
  news: PollResult,
  process: RunningProcess,
  { limits, now }: { limits: ReplyLimits; now: number },
): ToolOutput {
  const { id, label, missedBytes } = news;
  const bytes = Buffer.byteLength(news.text);
  const shown = shortenOutput({ head: news.text, tail: "", omittedBytes: 0, totalBytes: bytes }, limits);
  const output = shown.text(`Read it with process ${JSON.stringify({ action: "log", id, offset: 1 })}.`);
  const state = describeProcess(news, process, now);
  const body = output.trimEnd() === "" ? "(no new output)" : output.replace(/\n+$/, "");
  const note = meaningOf(label, process)?.note;
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
    display: `${id}: ${state}, ${bytes} bytes new`,
  };
}

function describeLog(page: LinePage, { info, process, limits }: Known & { limits: ReplyLimits }): ToolOutput {
  const { lines, totalLines, nextOffset, missing } = page;
  const whole = lines.map((line) => stripTerminalCodes(line.text)).join("\n");
  const bytes = Buffer.byteLength(whole);
  const shown = shortenOutput({ head: whole, tail: "", omittedBytes: 0, totalBytes: bytes }, limits);
  const output = shown.text("Ask for fewer lines at once.");
  const spill = missing && closedSpill(process.output.snapshot().spill);
  const from = lines[0]?.number ?? missing?.from;
  const to = nextOffset === undefined ? totalLines : nextOffset - 1;
  const notes = [
    from === undefined ? `no lines here; there are ${totalLines} in all` : `lines ${from} to ${to} of ${totalLines}`,
    ...(nextOffset === undefined ? [] : [`go on with offset ${nextOffset}`]),
    ...(missing ? [`lines ${missing.from} to ${missing.to} are no longer in memory`] : []),
    ...(spill ? [describeSpill(spill)] : []),
  ];
  return {
    content: `${output ? `${output}\n\n` : ""}[${notes.join("; ")}]`,
    details: {
      ...stateOf(info, process),
      output,
      totalLines,
      ...(nextOffset === undefined ? {} : { nextOffset }),
      ...(missing ? { missing } : {}),
      ...(spill ? { spillRef: spill.ref } : {}),
      truncated: shown.truncated || missing !== undefined,
    },
    display: `${info.id}: ${notes[0]}`,
  };
}

/** The process after something was done to it. */
function describeState(info: ProcessInfo, process: RunningProcess, what: string): ToolOutput {
  const survivors = process.exit?.survivors ?? [];
  const left = survivors.length > 0 ? ` These could not be ended: ${survivors.join(", ")}.` : "";
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
    signal: exit?.signal ? exit.signal : undefined,
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
