import type { EntryDraft, Incoming } from "./session.ts";
import { lateResultsMessage } from "./tell-late-results.ts";

/** What came in, as the model reads it: who speaks is said in front, because all of it has the role of a user. */
export function toEntry({ text, at: _at, ...incoming }: Incoming): EntryDraft {
  if (incoming.result) return { message: lateResultsMessage([incoming.result]), incoming };
  const head = headOf(incoming);
  return { message: { role: "user", content: head === "" ? text : `[${head}]\n${text}` }, incoming };
}

function headOf({ kind, from }: Omit<Incoming, "text" | "at">): string {
  const session = from?.session === undefined ? undefined : `session ${from.label ?? from.session}`;
  switch (kind) {
    case "message":
      return session === undefined ? "" : `Message from ${session}, not from the user`;
    case "announce":
      return `Report of ${session ?? "a session that was started here"}, not from the user`;
    case "wake":
      return "A schedule says";
    case "result":
      return "Result of a call that was pending";
  }
}
