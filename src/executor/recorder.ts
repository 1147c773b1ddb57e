import { type Call, toolOf } from "../core/call.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import type { ToolEvent } from "../core/event.ts";
import { toPlainData } from "../core/plain-data.ts";
import type { ToolResult } from "../core/result.ts";
import type { Middleware } from "../core/stage.ts";
import { createLineFile } from "../files/line-file.ts";
import { definitionOf, hideSecretsIn, type RecordedCall, type RecordingLine } from "./recording.ts";

export interface RecorderOptions {
  /** Hides secrets by their names and shapes, in inputs, results and updates. */
  redact?: boolean;
  /** Replaces a recording that is there already. */
  overwrite?: boolean;
  /** Only calls of this session; all where absent. */
  session?: string;
  /** For the header, besides that of Node: of the agent, of the model. */
  versions?: Record<string, string>;
  clock?: Clock;
}

export interface Recorder {
  /** For `createHaft({ middleware })`. */
  readonly middleware: readonly Middleware[];
  /** For `haft.on("tool_call_updated", …)`: without it a recording has no updates. */
  onEvent(event: ToolEvent): void;
  readonly calls: number;
  /** Throws what kept a line from being written; until then calls go on. */
  close(): void;
}

interface Begun {
  began: number;
  updates: RecordedCall["updates"];
}

/** Writes every call to a file, refused ones included, each as one line when it has ended. */
export function createRecorder(file: string, options: RecorderOptions = {}): Recorder {
  const { redact = false, session, clock = systemClock } = options;
  const lines = createLineFile(file, options);
  const startedAt = clock.now();
  const startedMonotonic = clock.monotonic();
  const underWay = new Map<Call, Begun>();
  const byId = new Map<string, Begun>();
  const tools = new Set<string>();
  let moment = 0;
  let written = 0;
  let failure: unknown;

  const write = (line: RecordingLine): void => {
    if (failure !== undefined) return;
    try {
      lines.append(JSON.stringify(line));
    } catch (error) {
      // Calls do not fail because nobody writes them down; whoever closes is told.
      failure = error;
    }
  };
  const kept = <T>(value: T): T => (redact ? (hideSecretsIn(value) as T) : value);
  write({
    type: "header",
    format: "haft-recording",
    version: 1,
    startedAt,
    redacted: redact,
    versions: { node: process.version, ...options.versions },
  });

  const writeTool = (call: Call): void => {
    if (!call.tool || tools.has(call.tool.name)) return;
    const { name, version } = toolOf(call);
    tools.add(name);
    write({ type: "tool", name, version, definition: definitionOf(call.tool) });
  };

  const writeCall = (call: Call, result: ToolResult, { began, updates }: Begun): void => {
    writeTool(call);
    written += 1;
    write({
      type: "call",
      callId: call.id,
      ...(call.parent && { parentId: call.parent.id }),
      tool: result.toolName,
      input: kept(toPlainData(call.accepted ?? call.input).value),
      caller: call.caller,
      began,
      ended: ++moment,
      atMs: call.startedMonotonic - startedMonotonic,
      durationMs: clock.monotonic() - call.startedMonotonic,
      ran: call.began,
      updates: kept(updates),
      result: kept(result),
    });
  };

  const middleware: Middleware = {
    name: "recorder",
    after: "record",
    enter(call) {
      if (session !== undefined && call.caller.session !== session) return;
      const begun = { began: ++moment, updates: [] };
      underWay.set(call, begun);
      byId.set(call.id, begun);
    },
    leave(call, result) {
      const begun = underWay.get(call);
      if (!begun) return result;
      underWay.delete(call);
      if (byId.get(call.id) === begun) byId.delete(call.id);
      writeCall(call, result, begun);
      return result;
    },
  };

  return {
    middleware: [middleware],
    onEvent(event) {
      if (event.type !== "tool_call_updated") return;
      byId.get(event.callId)?.updates.push({ atMs: event.at - startedAt, update: event.update });
    },
    get calls() {
      return written;
    },
    close() {
      lines.close();
      if (failure !== undefined) {
        throw new Error(`${file} is not complete: a line of the recording could not be written.`, { cause: failure });
      }
    },
  };
}
