import type { Dispatcher, Pool } from "undici";
import { tooLarge } from "./decode-content.ts";
import type { Hop } from "./follow-redirect.ts";

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  /** As it came over the wire. */
  body: Buffer;
}

export interface SendOptions {
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
  maxBytes: number;
  /** Looked at before the body comes: whether it is worth reading. Throws where the answer is of no use. */
  wantsBody(answer: Omit<RawAnswer, "body">): boolean;
}

/** Sends one request on a pool. The client's own streams cost as much again as all of this, so its events are used. */
export function sendHop(
  pool: Pool,
  hop: Hop,
  { headers, signal, maxBytes, wantsBody }: SendOptions,
): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let answer: Omit<RawAnswer, "body"> | undefined;
    let request: Dispatcher.DispatchController | undefined;

    const onAbort = (): void => stop(signal.reason as Error);
    const stop = (error: Error): void => {
      signal.removeEventListener("abort", onAbort);
      reject(error);
      request?.abort(error);
    };
    const finish = (body: Buffer): void => {
      signal.removeEventListener("abort", onAbort);
      if (answer) resolve({ ...answer, body });
    };
    signal.addEventListener("abort", onAbort, { once: true });

    pool.dispatch(
      {
        path: `${hop.url.pathname}${hop.url.search}`,
        method: hop.method as Dispatcher.HttpMethod,
        headers: { ...headers },
        body: hop.body ?? null,
      },
      {
        onRequestStart(controller) {
          request = controller;
          // It may have waited for a connection longer than anybody waits for it.
          if (signal.aborted) controller.abort(signal.reason as Error);
        },
        onResponseStart(controller, status, received) {
          if (status < 200) return;
          answer = { status, headers: flatten(received) };
          try {
            if (wantsBody(answer)) return;
          } catch (error) {
            return stop(error as Error);
          }
          finish(Buffer.alloc(0));
          // A short one is read away, so that the connection can be used again.
          if (!(Number(answer.headers["content-length"]) <= 65_536)) controller.abort(new Error("not wanted"));
        },
        onResponseData(_controller, chunk) {
          length += chunk.length;
          if (length > maxBytes) stop(tooLarge(maxBytes));
          else chunks.push(chunk);
        },
        onResponseEnd: () => finish(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length)),
        onResponseError: (_controller, error) => stop(error),
      },
    );
  });
}

function flatten(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name] = typeof value === "string" ? value : value.join(", ");
  }
  return flat;
}
