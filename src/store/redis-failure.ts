import { type ToolError, toolError } from "../core/error.ts";

/** What a person can do about it, without the password. */
export function explainRedis(error: unknown, url: string): ToolError {
  const text = error instanceof Error ? error.message || String((error as NodeJS.ErrnoException).code) : String(error);
  const where = addressOf(url);
  const fail = (what: string, next: string): ToolError =>
    toolError("unavailable", `The queue at ${where} ${what}`, { next, cause: new Error(text) });
  if (/WRONGPASS|NOAUTH|invalid password/i.test(text)) {
    return fail(`refused the login (${text})`, "Check user and password in the queue's URL.");
  }
  if (/DB index is out of range/i.test(text)) return fail(`has no such database (${text})`, "Correct the queue's URL.");
  return fail(`cannot be reached (${text})`, "Start the server or check the queue's URL.");
}

/** Without user and password. */
function addressOf(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return `${host || "localhost"}${pathname}`;
  } catch {
    return "the given URL";
  }
}
