import { failed } from "../core/build-result.ts";
import { type Call, note, toolOf } from "../core/call.ts";
import { failureOf } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Stage } from "../core/stage.ts";
import type { CallLog } from "./call-log.ts";

/** The last stage before the tool: the record is written before the effect, and where it cannot be, there is none. */
export function writeAhead(log: CallLog): Stage {
  return {
    name: "begin",
    enter(call) {
      try {
        const begun = log.begun(call);
        return begun instanceof Promise ? begun.then(nothing, (cause) => unwritten(call, cause)) : undefined;
      } catch (cause) {
        return unwritten(call, cause);
      }
    },
  };
}

/** Reading changes nothing, so that it may go on; that it was not recorded is said. */
function unwritten(call: Call, cause: unknown): ToolResult | undefined {
  const why = cause instanceof Error ? cause.message : String(cause);
  if (toolOf(call).isReadOnly) {
    note(call, "unrecorded", why);
    return undefined;
  }
  const message = `The call was not run because it could not be recorded (${why}). Free the store, then call again.`;
  return failed(call, failureOf("not_recorded", message));
}

function nothing(): undefined {
  return undefined;
}
