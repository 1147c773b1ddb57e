import type { JSONRPCMessage } from "@modelcontextprotocol/client";
import type { Clock } from "../../core/clock.ts";
import { hideSecrets, isSecretName, maskSecret } from "../../core/secrets/mask-secrets.ts";
import { isObject } from "../../schema/json-schema.ts";

/** One message between Haft and a server. */
export interface ProtocolEntry {
  /** Incremented by one. Older entries are dropped. */
  number: number;
  at: number;
  direction: "sent" | "received";
  kind: "request" | "response" | "error" | "notification";
  /** Of a response: the method of its request. */
  method?: string;
  /** Of a response: since its request. */
  durationMs?: number;
  /** The message as JSON, without secrets, cut if it is long. */
  text: string;
}

const MAX_ENTRIES = 200;
const MAX_TEXT_LENGTH = 4000;
/** A server may leave requests unanswered. */
const MAX_OPEN = 1000;

/** The last messages of a connection. They are cut before they are kept: one message can have megabytes. */
export class ProtocolLog {
  readonly #clock: Clock;
  readonly #entries: ProtocolEntry[] = [];
  /** Requests without a response, by direction and id. */
  readonly #open = new Map<string, { method: string; at: number }>();
  #count = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  push(direction: ProtocolEntry["direction"], message: JSONRPCMessage): void {
    const entry: ProtocolEntry = {
      number: ++this.#count,
      at: this.#clock.now(),
      direction,
      text: boundedJson(message, MAX_TEXT_LENGTH),
      ...this.#read(direction, message),
    };
    this.#entries.push(entry);
    if (this.#entries.length > MAX_ENTRIES) this.#entries.shift();
  }

  /** Oldest first. */
  entries(after = 0): ProtocolEntry[] {
    return this.#entries.filter(({ number }) => number > after);
  }

  #read(
    direction: ProtocolEntry["direction"],
    message: JSONRPCMessage,
  ): Pick<ProtocolEntry, "kind" | "method" | "durationMs"> {
    const now = this.#clock.monotonic();
    if ("method" in message) {
      const method = String(message.method).slice(0, 200);
      if (!("id" in message)) return { kind: "notification", method };
      if (this.#open.size >= MAX_OPEN) this.#open.clear();
      this.#open.set(`${direction} ${message.id}`, { method, at: now });
      return { kind: "request", method };
    }
    const key = `${direction === "sent" ? "received" : "sent"} ${message.id}`;
    const request = this.#open.get(key);
    this.#open.delete(key);
    return {
      kind: "error" in message ? "error" : "response",
      method: request?.method,
      durationMs: request && now - request.at,
    };
  }
}

/** JSON of at most about `max` characters, made without reading more than that. Secrets are masked. */
export function boundedJson(value: unknown, max: number): string {
  let left = max;
  const write = (text: string): string => {
    left -= text.length;
    return text;
  };
  const shown = (name: string, text: string): string => {
    // Longer than what is left: a secret at the cut stays recognisable.
    const part = hideSecrets(isSecretName(name) ? maskSecret(name, text).value : text.slice(0, left + 500));
    const cut = part.length > left ? `${part.slice(0, Math.max(left, 0))}…` : part;
    return write(JSON.stringify(cut));
  };
  const list = (open: string, items: Iterable<() => string>, close: string, indent: string): string => {
    const lines: string[] = [];
    for (const item of items) {
      if (left <= 0) {
        lines.push(`${indent}  …`);
        break;
      }
      left -= indent.length + 3;
      lines.push(`${indent}  ${item()}`);
    }
    return lines.length === 0 ? `${open}${close}` : `${open}\n${lines.join(",\n")}\n${indent}${close}`;
  };
  const show = (name: string, one: unknown, indent: string): string => {
    if (typeof one === "string") return shown(name, one);
    if (Array.isArray(one))
      return list(
        "[",
        each(one, (item) => show(name, item, `${indent}  `)),
        "]",
        indent,
      );
    if (!isObject(one)) return write(JSON.stringify(one) ?? "null");
    const fields = each(Object.keys(one), (key) => `${shown("", key)}: ${show(key, one[key], `${indent}  `)}`);
    return list("{", fields, "}", indent);
  };
  return show("", value, "");
}

function* each<T>(items: readonly T[], show: (item: T) => string): Generator<() => string> {
  for (const item of items) yield () => show(item);
}
