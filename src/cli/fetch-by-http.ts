import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { text as readText } from "node:stream/consumers";

/** `fetch` to a server over plain HTTP: Node's own compiles a parser first, for 280 ms of CPU time. */
export const fetchByHttp: typeof globalThis.fetch = (address, init = {}) => {
  // A request object is not used here, and naming its class would load what this avoids.
  const url = new URL(String(address));
  const { method = "GET", headers, body, signal } = init;
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void =>
      reject(signal?.aborted ? signal.reason : new TypeError("fetch failed", { cause }));
    const sent = request(
      url,
      { method, headers: headers as Record<string, string>, signal: signal ?? undefined },
      (incoming) => {
        const { statusCode: status = 0 } = incoming;
        // The client follows no redirects.
        if (status >= 300 && status < 400) {
          incoming.destroy();
          return fail(new Error(`The answer is a redirect (${status})`));
        }
        resolve(toResponse(incoming, status));
      },
    );
    sent.on("error", fail);
    sent.end(body);
  });
};

/** Undefined for addresses that need Node's own. */
export function fetchFor(url: string): typeof globalThis.fetch | undefined {
  return url.startsWith("http:") ? fetchByHttp : undefined;
}

/** The members of a response that the client uses; the class itself belongs to Node's `fetch`. */
function toResponse(incoming: IncomingMessage, status: number): Response {
  const response = {
    ok: status >= 200 && status < 300,
    status,
    text: () => readText(incoming),
    json: async (): Promise<unknown> => JSON.parse(await readText(incoming)),
    get body() {
      return Readable.toWeb(incoming);
    },
  };
  return response as unknown as Response;
}
