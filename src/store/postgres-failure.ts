import { toolError } from "../core/error.ts";

const LOST = /^(?:08...|57P0[123]|25P03|ECONN\w+|EPIPE|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/;

/** Whether the connection is gone, so that it must not be used again. */
export function isConnectionLost(error: unknown): boolean {
  const { code, message, cause } = Object(error) as { code?: unknown; message?: unknown; cause?: unknown };
  if (cause !== undefined && isConnectionLost(cause)) return true;
  return (
    LOST.test(String(code)) ||
    /connection terminated|connection error|timeout exceeded when trying/i.test(String(message))
  );
}

/** What a person can do about it, without the password; what is wrong with the statement itself stays as it is. */
export function explainPostgres(error: unknown, url: string): unknown {
  const where = addressOf(url);
  const code = String((Object(error) as { code?: unknown }).code ?? "");
  const text = withoutPassword(error instanceof Error ? error.message || code : String(error), url);
  // The cause carries the driver's own words, and some of them quote the address.
  const cause = new Error(text);
  const fail = (what: string, next: string) =>
    toolError("unavailable", `The store at ${where} ${what}`, { next, cause });
  if (code.startsWith("28")) return fail(`refused the login (${text})`, "Check user and password in the store's URL.");
  if (code === "3D000")
    return fail(`has no such database (${text})`, "Create the database, or correct the store's URL.");
  if (/^(?:53|57P03|54)/.test(code))
    return fail(`has no room (${text})`, "Free some space or connections, then try again.");
  if (code === "25006") return fail("is read-only", "Name the primary server in the store's URL.");
  if (code === "42501") return fail(`lacks a permission (${text})`, "Grant the user of the store's URL its schema.");
  if (isConnectionLost(error)) return fail(`cannot be reached (${text})`, "Start the server or check the store's URL.");
  if (code === "40P01" || code === "40001") {
    return toolError("busy", `The store at ${where} was changed by others at the same moment`, {
      next: "Try again.",
      cause,
    });
  }
  if (code === "ERR_INVALID_URL") {
    return fail("has an address that is no URL", "Write it as postgres://user:password@host:5432/database.");
  }
  return error;
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

function withoutPassword(text: string, url: string): string {
  let password = /^[a-z]+:\/\/[^@/]*?:([^@/]+)@/i.exec(url)?.[1];
  if (!password) return text;
  let shown = text.replaceAll(password, "[hidden]");
  try {
    password = decodeURIComponent(password);
    shown = shown.replaceAll(password, "[hidden]");
  } catch {
    // Not encoded: it was hidden already.
  }
  return shown;
}
