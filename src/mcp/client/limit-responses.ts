import type { FetchLike } from "@modelcontextprotocol/client";

/**
 * A fetch whose answers cannot fill the memory: the body of an ordinary answer, and of an event stream each line, has at
 * most `mostBytes`. Beyond them the body ends with an error, and with it the call that it belongs to.
 */
export function limitResponses(fetch: FetchLike, maxBytes: number): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (!response.body) return response;
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
    const body = response.body.pipeThrough(counter(maxBytes, isStream));
    const limited = new Response(body, response);
    // A new Response forgets where it came from, and redirects are judged by it.
    Object.defineProperty(limited, "url", { value: response.url });
    Object.defineProperty(limited, "redirected", { value: response.redirected });
    return limited;
  };
}

function counter(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const newline = isStream ? chunk.lastIndexOf(10) : -1;
      bytes = newline < 0 ? bytes + chunk.length : chunk.length - newline;
      // Also where the line ends in this chunk: a chunk is small, what came before it need not be.
      if (bytes > maxBytes) controller.error(new Error(`The server's answer is longer than ${maxBytes} bytes.`));
      else controller.enqueue(chunk);
    },
  });
}
