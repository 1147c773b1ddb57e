/** How long a scan keeps the thread before it lets others have it. */
const SLICE_MS = 8;

/** To be awaited between the steps of a long scan: goes on at once within a slice, after a turn of the others beyond. */
export function createTimeSlice(signal?: AbortSignal): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < SLICE_MS) return undefined;
    return new Promise<void>((resume) => setImmediate(resume)).then(() => {
      signal?.throwIfAborted();
      since = performance.now();
    });
  };
}
