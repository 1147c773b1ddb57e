import type { CallSummary } from "../core/call-summary.ts";
import { hideSecretShapesIn, redactSecrets } from "../core/secrets/mask-secrets.ts";
import type { UserAnswer, UserQuestion } from "../core/questions/user-question.ts";
import type { Preview } from "../core/tool.ts";
import type { RowChange } from "./call-store.ts";
import type { Transition } from "./stored-call.ts";

/** An ended call is not started any more, so secrets are removed from what was shown. */
export function redacted(transition: Transition, now: number): RowChange {
  return (row) => {
    const changes = transition(row, now);
    if (changes?.state !== "ended" || !row.question) return changes;
    const { input, preview, summary, made } = row.question;
    const { input: _sent, environment: _environment, ...rest } = made;
    const shown = preview ? (redactSecrets(preview) as Preview) : undefined;
    const summed = summary ? (redactSecrets(summary) as CallSummary) : undefined;
    const questions = row.question.questions && (redactSecrets(row.question.questions) as readonly UserQuestion[]);
    const redacted = { input: redactSecrets(input), preview: shown, summary: summed, questions, made: rest };
    const { reason, verdict, suggestedRules, grants } = row.question;
    const question = {
      ...row.question,
      ...redacted,
      ...hideSecretShapesIn({ reason, verdict, suggestedRules, grants }),
    };
    const answer = changes.answer ?? row.answer;
    // A call with an unknown outcome may be started again.
    if (!answer?.answers || changes.outcome === "unknown") return { ...changes, question };
    const answers = redactSecrets(answer.answers, WHOLE_ANSWERS) as readonly UserAnswer[];
    return { ...changes, question, answer: { ...answer, answers } };
  };
}

/** More than all answers of a call may have. */
const WHOLE_ANSWERS = { maxTextLength: 5000, maxTotalLength: 50_000 };
