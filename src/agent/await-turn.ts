import type { Clock } from "../core/clock.ts";
import type { TurnEnd } from "./session.ts";
import type { SessionFeed } from "./session-feed.ts";
import type { SessionStore } from "./session-store.ts";

/** What came of something that was said to a session. `accepted`: nobody waited, or it waits itself. */
export type SendOutcome =
  | { status: "ok"; reply: string; turn: TurnEnd }
  | { status: "accepted"; reply?: string }
  | { status: "timeout" }
  | { status: "error"; error: string; reply?: string };

interface Awaited {
  key: string;
  /** Of what was said. */
  id: string;
  waitMs: number;
  signal: AbortSignal | undefined;
}

/** The end of the turn that took what was said, whatever process runs it; nothing where that takes longer. */
export async function awaitTurn(
  { key, id, waitMs, signal }: Awaited,
  { store, feed, clock }: { store: SessionStore; feed: SessionFeed; clock: Clock },
): Promise<TurnEnd | undefined> {
  const until = clock.monotonic() + waitMs;
  for (;;) {
    // Asked before the store is, so that an end in between is not waited for.
    const left = until - clock.monotonic();
    const abort = new AbortController();
    const news = feed.next(key, Math.max(left, 0), signal ? AbortSignal.any([signal, abort.signal]) : abort.signal);
    const end = await store.endOf(key, id);
    if (end || left <= 0 || signal?.aborted) {
      abort.abort();
      return end;
    }
    await news;
  }
}

export function outcomeOf(end: TurnEnd | undefined): SendOutcome {
  if (!end) return { status: "timeout" };
  const reply = end.text === "" ? {} : { reply: end.text };
  if (end.stop === "pending") return { status: "accepted", ...reply };
  if (end.stop === "done" || end.stop === "stopped") return { status: "ok", reply: end.text, turn: end };
  return { status: "error", error: end.error ?? `Its turn ended early (${end.stop}).`, ...reply };
}
