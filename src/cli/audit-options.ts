import type { AuditEntry, AuditQuery } from "../http/wire.ts";
import type { OptionSpecs, OptionValues } from "./command.ts";
import { type Output, safeLine, type Style } from "./output.ts";
import { showColumns } from "./show-columns.ts";
import { showDuration, showTime } from "./show-time.ts";

export const AUDIT_FILTERS = {
  tool: { type: "text", value: "NAME", about: "Only of this tool" },
  status: {
    type: "text",
    value: "STATUS",
    about: "How it ended",
    oneOf: ["completed", "failed", "pending", "unknown"],
  },
  decision: { type: "text", value: "WORD", about: "What was decided", oneOf: ["allow", "ask", "deny"] },
  session: { type: "text", value: "NAME", about: "Only of this session" },
  user: { type: "text", value: "NAME", about: "Only of this user" },
  search: { type: "text", value: "TEXT", about: "Somewhere in what was kept" },
  since: { type: "moment", value: "WHEN", about: "2h (ago), or a date" },
  until: { type: "moment", value: "WHEN", about: "2h (ago), or a date" },
} as const satisfies OptionSpecs;

export function auditQuery(options: OptionValues<typeof AUDIT_FILTERS>): AuditQuery {
  const { tool, status, decision, session, user, search, since, until } = options;
  const query = { tool, status, decision, session, user, search, from: since, to: until };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}

const STYLES: Readonly<Record<string, Style>> = { completed: "green", failed: "red", pending: "yellow" };

export function showEntries(entries: readonly AuditEntry[], { paint, columns }: Output): string[] {
  const rows = entries.map((entry) => {
    const { id, at, type, toolName, status, errorCode, durationMs, caller, input, verdict, callId } = entry;
    const outcome = errorCode ?? status ?? verdict?.decision ?? "";
    const details = [
      durationMs === undefined ? "" : showDuration(durationMs),
      caller.user ?? "",
      callId,
      input === undefined ? summaryOf(entry) : JSON.stringify(input),
    ];
    return [id, showTime(at), type, safeLine(toolName), outcome, safeLine(details.filter(Boolean).join("  "))];
  });
  const styleOf = (cell: string, column: number): Style | undefined =>
    column === 4 ? (STYLES[cell] ?? "yellow") : undefined;
  return showColumns(rows, { paint, styles: ["dim", "dim", undefined, "bold"], styleOf, columns });
}

function summaryOf({ result }: AuditEntry): string {
  const { summary, note, reason } = Object(result) as Record<string, unknown>;
  return [summary, note, reason].filter((text) => typeof text === "string").join(" ");
}
