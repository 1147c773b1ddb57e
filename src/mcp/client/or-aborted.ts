/** Waits for work, or no longer than the signal lets it. What comes too late is handed to `onTooLate`, to be closed. */
export function abortable<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  onTooLate: (value: T) => void = () => undefined,
): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work
      .then((value) => (signal.aborted ? onTooLate(value) : resolve(value)), reject)
      .finally(() => signal.removeEventListener("abort", abort));
  });
}
