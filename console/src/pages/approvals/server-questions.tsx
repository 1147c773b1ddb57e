import type { QuestionInfo } from "../../../../src/contracts/questions.ts";
import { useApi } from "../../api.ts";
import { QuestionCard } from "./question-card.tsx";

/** No event tells of a question: it may be asked in another process. */
const CHECK_INTERVAL_MS = 3000;

/** What MCP servers ask people; nothing where this server has no such questions. */
export function useOpenQuestions(isThere: boolean): readonly QuestionInfo[] {
  const { data } = useApi("questions", "list", isThere ? [{ state: "open" }] : undefined, {
    everyMs: CHECK_INTERVAL_MS,
  });
  return data?.items ?? [];
}

export function ServerQuestions({ questions }: { questions: readonly QuestionInfo[] }) {
  return (
    <>
      {questions.map((question) => (
        <QuestionCard key={question.id} question={question} />
      ))}
    </>
  );
}
