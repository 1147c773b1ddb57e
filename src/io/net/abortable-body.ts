/**
 * The body of a response, as a stream that fails when the signal aborts. The `fetch` of Node 20 forgets its signal once its
 * response is garbage, also while its body is read: such a read never ends.
 */
export function abortableBody<Chunk>(body: ReadableStream<Chunk>, signal: AbortSignal): ReadableStream<Chunk> {
  return body.pipeThrough(new TransformStream<Chunk, Chunk>(), { signal });
}
