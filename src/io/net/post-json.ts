/**
 * The body of a response, as a stream that fails when the signal aborts. The `fetch` of Node 20 forgets its signal once its
 * response is garbage, also while its body is read: such a read never ends.
 */
export function abortableBody<Chunk>(body: ReadableStream<Chunk>, signal: AbortSignal): ReadableStream<Chunk> {
  return body.pipeThrough(new TransformStream<Chunk, Chunk>(), { signal });
}

export interface JsonPost {
  headers: Readonly<Record<string, string>>;
  body: string;
  signal: AbortSignal;
}

const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/** Posts to a hook of type http. No network guard: the user's configuration names the address. Redirects fail. */
export async function postJson(
  url: string,
  { headers, body, signal }: JsonPost,
): Promise<{ status: number; body: string }> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body,
    signal,
    redirect: "error",
  });
  return { status: response.status, body: await readBounded(response, signal) };
}

async function readBounded({ body }: Response, signal: AbortSignal): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body ? abortableBody(body, signal) : []) {
    bytes += chunk.byteLength;
    if (bytes > MAX_RESPONSE_BYTES) throw new Error("The response is longer than 16 MiB");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
