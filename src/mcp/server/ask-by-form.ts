import type { ElicitRequestFormParams } from "@modelcontextprotocol/server";
import type { Round } from "./round.ts";

interface FormOptions {
  form: ElicitRequestFormParams;
  round: Round;
  signal: AbortSignal;
  /** Settles when the question was answered through another door. */
  elsewhere(signal: AbortSignal): Promise<unknown>;
}

const MAX_MS = 24 * 60 * 60_000;

/** What the person at the client answered; undefined where the client could not show the form after all. */
export async function requestByForm({ form, round, signal, elsewhere }: FormOptions): Promise<unknown> {
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  const requested = round
    .push({ method: "elicitation/create", params: form }, { signal: controller.signal, timeoutMs: MAX_MS })
    .catch(() => undefined);
  const answered = elsewhere(controller.signal).then(
    () => "answered elsewhere" as const,
    // Nobody else answers; the client still may.
    () => requested,
  );
  try {
    return await Promise.race([requested, answered]);
  } finally {
    signal.removeEventListener("abort", abort);
    // Takes the form away from a client that still shows it.
    controller.abort(new Error("The question was answered."));
  }
}
