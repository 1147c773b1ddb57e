import type { IncomingMessage } from "node:http";
import { hideSecrets } from "../core/secrets/mask-secrets.ts";
import { showHiddenCharacters } from "../io/shell/terminal-text.ts";

const MAX_CHARACTERS = 200;

/** One line of the log. Values come from clients, so they are quoted, escaped and shortened. */
export function logLine(event: string, facts: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(facts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${typeof value === "number" ? value : quote(String(value))}`);
  return [event, ...fields].join(" ");
}

function quote(text: string): string {
  const masked = hideSecrets(text.slice(0, 4 * MAX_CHARACTERS));
  const cut = text.length > MAX_CHARACTERS ? `${masked.slice(0, MAX_CHARACTERS)}… (${text.length} characters)` : masked;
  return showHiddenCharacters(JSON.stringify(cut));
}

/** A request that was refused or failed. `reason` is a message, or the error that was thrown. */
function requestLine(incoming: IncomingMessage, status: number, reason: unknown): string {
  return logLine(status >= 500 ? "failed" : "refused", {
    status,
    method: incoming.method,
    // Without the query: it may contain something that was pasted into the wrong place.
    path: incoming.url?.split("?")[0],
    from: incoming.socket.remoteAddress,
    agent: incoming.headers["user-agent"],
    reason: reason instanceof Error ? (reason.stack ?? reason.message) : reason,
  });
}

const SUMMARY_MS = 1000;

/** Writes a line for each request that was refused or failed; of those refused because of load, one in a second with their number. */
export class RequestLog {
  readonly #log: (line: string) => void;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #more = 0;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  note(incoming: IncomingMessage, status: number, reason: unknown): void {
    if (status !== 429 && status !== 503) return this.#log(requestLine(incoming, status, reason));
    const now = performance.now();
    if (now - this.#loggedAt < SUMMARY_MS) return void this.#more++;
    const line = requestLine(incoming, status, reason);
    this.#log(this.#more > 0 ? `${line} more=${this.#more}` : line);
    this.#loggedAt = now;
    this.#more = 0;
  }
}
