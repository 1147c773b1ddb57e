import { textOf } from "../core/content.ts";
import type { ToolResult } from "../core/result.ts";
import type { ToolCallPart } from "./message.ts";

/** What to tell a model that goes in circles: first so that it changes its way, then that it was stopped. */
export interface Repetition {
  action: "warn" | "stop";
  message: string;
}

export interface RepetitionWatch {
  /** One step: its calls, and what they gave. */
  note(calls: readonly ToolCallPart[], results: readonly ToolResult[]): Repetition | undefined;
}

/** How often something must have happened, what it is, and what a model should do instead. */
interface Kind {
  warn: number;
  stop: number;
  what: string;
  next: string;
}

const UNKNOWN_TOOL: Kind = {
  warn: 3,
  stop: 5,
  what: "call tools that do not exist",
  next: "Use only the tools that you were given.",
};
const SAME_RESULT: Kind = {
  warn: 3,
  stop: 5,
  what: "make the same calls with the same results",
  next: "Their results will not change: use what you know, try another way, or say what is missing.",
};
/** Where the results differ the model may be waiting for something. */
const SAME_CALL: Kind = {
  warn: 12,
  stop: 24,
  what: "make the same calls",
  next: "If you wait for something, wait longer between two looks, or say that it is not ready.",
};
/** One step again and again, two in turn, three in turn. */
const MAX_PERIOD = 3;

export function watchRepetition(): RepetitionWatch {
  const withResults: string[] = [];
  const callsAlone: string[] = [];
  const warned = new Set<Kind>();
  let unknown = 0;
  return {
    note(calls, results) {
      // Models that repeat themselves write the same keys in the same order.
      const made = calls.map(({ name, input }) => `${name} ${JSON.stringify(input)}`).join("\n");
      const gave = results.map((result) => `${result.status} ${textOf(result.content)}`).join("\n");
      callsAlone.push(made);
      withResults.push(`${made}\n\n${gave}`);
      const isLost = results.every((result) => result.status === "failed" && result.error.code === "tool_not_found");
      unknown = isLost ? unknown + 1 : 0;
      return (
        judge(unknown, UNKNOWN_TOOL) ??
        judge(timesRepeated(withResults), SAME_RESULT) ??
        judge(timesRepeated(callsAlone), SAME_CALL)
      );
    },
  };

  function judge(times: number, kind: Kind): Repetition | undefined {
    if (times >= kind.stop) return { action: "stop", message: `Stopped: it went on to ${kind.what} (${times} times).` };
    if (times < kind.warn) warned.delete(kind);
    if (times < kind.warn || warned.has(kind)) return undefined;
    warned.add(kind);
    const message = `You ${kind.what}, ${times} times now. ${kind.next} If you go on like this you are stopped.`;
    return { action: "warn", message };
  }
}

/** How often the last one, two or three steps have come one after the other. */
function timesRepeated(steps: readonly string[]): number {
  let max = 1;
  for (let period = 1; period <= MAX_PERIOD; period++) {
    let same = 0;
    for (let at = steps.length - 1; at >= period && steps[at] === steps[at - period]; at--) same++;
    // Only whole rounds count; one step that came again is the business of the first period.
    max = Math.max(max, Math.floor(same / period) + 1);
  }
  return max;
}
