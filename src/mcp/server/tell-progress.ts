import type { ServerContext } from "@modelcontextprotocol/server";
import type { Clock } from "../../core/clock.ts";
import { textOf } from "../../core/content.ts";
import type { Update } from "../../core/event.ts";

/** A tool may print a thousand lines a second; nobody reads them one by one. */
const MIN_INTERVAL_MS = 20;
const MAX_MESSAGE_LENGTH = 500;

/** Passes a tool's updates on as progress, which only ever rises. Does nothing where the client did not ask for it. */
export function createProgress(context: ServerContext, clock: Clock): (update: Update) => void {
  const progressToken = context.mcpReq._meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let last = Number.NEGATIVE_INFINITY;
  let reportedAt = Number.NEGATIVE_INFINITY;

  return ({ progress, content }) => {
    const message = progress?.message ?? (content && textOf(content));
    const value = progress?.done ?? Math.max(0, last + 1);
    const isEnd = progress?.total !== undefined && value >= progress.total;
    const now = clock.monotonic();
    if (value <= last || (!isEnd && now - reportedAt < MIN_INTERVAL_MS)) return;
    last = value;
    reportedAt = now;
    const params = {
      progressToken,
      progress: value,
      ...(progress?.total === undefined ? {} : { total: progress.total }),
      ...(message ? { message: message.slice(0, MAX_MESSAGE_LENGTH) } : {}),
    };
    // Whoever does not hear it does not need it.
    context.mcpReq.notify({ method: "notifications/progress", params }).catch(() => undefined);
  };
}
