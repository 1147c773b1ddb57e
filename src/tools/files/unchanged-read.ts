import { BoundedMap } from "../../core/bounded-map.ts";
import type { ToolOutput } from "../../core/result.ts";
import { callOf } from "../../core/gate.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { FileInfo } from "../../io/files/open-file.ts";
import type { ReadRange } from "./read.ts";

const MAX_READS = 10_000;
/** A shorter result costs no more than the note. */
const MIN_LENGTH = 500;

/** Which call has shown which part of which file, in this process. */
export class ShownReads {
  /** By owner, file and range: the call, and what the file was then. */
  readonly #shown = new BoundedMap<string, { callId: string; state: string }>(MAX_READS);

  /**
   * The output with a note instead of its text, if an earlier call of the same session has shown the same text and its result
   * is still in the conversation. Without `CallOptions.isInConversation` nothing is known about that.
   */
  shorten(output: ToolOutput, { info, range, shown, context }: ShownRead): ToolOutput {
    const { isInConversation } = callOf(context).options;
    if (!isInConversation) return output;
    const key = keyOf(info, range, context);
    const earlier = this.#shown.get(key);
    const isShown = earlier?.state === info.state && isInConversation(earlier.callId);
    if (isShown && typeof output.content === "string" && output.content.length >= MIN_LENGTH) {
      return {
        ...output,
        content: `[${shown} has not changed since you read it in call ${earlier.callId}: its text is in that result.]`,
      };
    }
    this.#shown.set(key, { callId: context.callId, state: info.state });
    return output;
  }
}

interface ShownRead {
  info: FileInfo;
  range: ReadRange;
  /** The path as a model sees it. */
  shown: string;
  context: ToolContext;
}

function keyOf({ real }: FileInfo, range: ReadRange, { caller }: ToolContext): string {
  const { offset = 1, limit, column = 1, bytes, pages, encoding } = range;
  const part = [Math.max(1, offset), limit, column, bytes, pages, encoding];
  return JSON.stringify([caller.user, caller.session, caller.agent, real, ...part]);
}
