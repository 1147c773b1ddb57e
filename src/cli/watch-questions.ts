import { HaftClientError } from "../client/client-error.ts";
import type { HaftClient } from "../client/create-client.ts";
import type { QuestionInfo } from "../http/wire.ts";
import { pause } from "./pause.ts";

const CHECK_INTERVAL_MS = 500;

/** Hands over each question of an MCP server once, until the signal says stop. A server without such questions has none. */
export async function watchQuestions(
  client: HaftClient,
  signal: AbortSignal,
  onQuestion: (question: QuestionInfo) => Promise<void> | void,
): Promise<void> {
  const seen = new Set<string>();
  while (!signal.aborted) {
    for (const question of await openQuestions(client)) {
      if (seen.has(question.id) || signal.aborted) continue;
      seen.add(question.id);
      await onQuestion(question);
    }
    await pause(CHECK_INTERVAL_MS, signal);
  }
}

/** Oldest first. */
export async function openQuestions(client: HaftClient): Promise<QuestionInfo[]> {
  try {
    return (await client.questions.list({ state: "open" })).items.reverse();
  } catch (error) {
    if (error instanceof HaftClientError && error.code === "not_here") return [];
    throw error;
  }
}
