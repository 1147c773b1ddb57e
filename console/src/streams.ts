import { useEffect } from "react";

const RETRY_MS = 1_000;

/**
 * Reads a stream of the API while the component is shown. If the connection is lost, `open` is called again, and the stream
 * starts from its beginning: reset what was collected in `open`.
 */
export function useStream<Frame>(
  open: (signal: AbortSignal) => AsyncIterable<Frame>,
  onFrame: (frame: Frame) => void,
  key: string,
): void {
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    const read = async (): Promise<void> => {
      while (!signal.aborted) {
        try {
          for await (const frame of open(signal)) if (!signal.aborted) onFrame(frame);
          return;
        } catch {
          if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
        }
      }
    };
    void read();
    return () => controller.abort();
    // The callbacks change with every render; the key says which stream it is.
  }, [key]);
}
