import type { QuestionInfo } from "../../../../src/contracts/questions.ts";
import { useApi } from "../../api.ts";

/** There is no event for questions: another process may ask them. */
const CHECK_INTERVAL_MS = 3000;
const NONE: readonly QuestionInfo[] = [];

/** Questions of MCP servers. None if this server does not have them. */
export function useOpenQuestions(isThere: boolean): readonly QuestionInfo[] {
  const { data } = useApi("questions", "list", isThere ? [{ state: "open" }] : undefined, {
    everyMs: CHECK_INTERVAL_MS,
  });
  return data?.items ?? NONE;
}
