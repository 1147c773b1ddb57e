import type { AuditEntry, AuditFilter } from "../../../../src/contracts/audit.ts";
import { api } from "../../api.ts";

const COLUMNS: readonly (readonly [name: string, valueOf: (entry: AuditEntry) => unknown])[] = [
  ["id", ({ id }) => id],
  ["time", ({ at }) => new Date(at).toISOString()],
  ["type", ({ type }) => type],
  ["tool", ({ toolName }) => toolName],
  ["call", ({ callId }) => callId],
  ["user", ({ caller }) => caller.user],
  ["agent", ({ caller }) => caller.agent],
  ["session", ({ caller }) => caller.session],
  ["status", ({ status }) => status],
  ["error", ({ errorCode }) => errorCode],
  ["duration_ms", ({ durationMs }) => durationMs],
  ["waited_ms", ({ waitedMs }) => waitedMs],
  ["decision", ({ verdict }) => verdict?.decision],
  ["reason", ({ verdict }) => verdict?.reason],
  ["input", ({ input }) => (input === undefined ? undefined : JSON.stringify(input))],
  ["result", ({ result }) => (result === undefined ? undefined : JSON.stringify(result))],
  ["hash", ({ hash }) => hash],
];

/** Entries that are one part of the file: a browser keeps parts outside its heap. */
const PART = 2000;

/** Downloads the entries that match as CSV, oldest first. `onCount` is called now and then. */
export async function downloadCsv(filter: AuditFilter, onCount: (count: number) => void): Promise<void> {
  const parts: Blob[] = [];
  let lines = [COLUMNS.map(([name]) => name).join(",")];
  let count = 0;
  for await (const entry of api.audit.export(filter)) {
    lines.push(COLUMNS.map(([, valueOf]) => cell(valueOf(entry))).join(","));
    if (++count % PART !== 0) continue;
    parts.push(new Blob([`${lines.join("\r\n")}\r\n`]));
    lines = [];
    onCount(count);
  }
  parts.push(new Blob([`${lines.join("\r\n")}\r\n`]));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(parts, { type: "text/csv;charset=utf-8" }));
  link.download = "haft-audit.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A spreadsheet runs a cell that begins like a formula: such a text gets an apostrophe. */
function cell(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "number") return String(value);
  const text = String(value);
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
