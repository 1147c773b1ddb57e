import type { ToolContext } from "../../core/tool.ts";
import type { AnswerElicitation } from "./answer-server.ts";

/**
 * While a server asks a person, time stands still for the calls that it works on: which of them it asks for, it need not say.
 * Where none of them waits any more, the question is taken back.
 */
export function pauseTimeLimitWhileAnswering(
  answer: AnswerElicitation,
  running: ReadonlySet<ToolContext>,
): AnswerElicitation {
  return async (request, signal) => {
    const calls = [...running];
    const message = `MCP server "${request.server}" asks the person something, and waits for the answer`;
    const resumes = calls.map((call) => {
      call.update({ progress: { done: 0, message } });
      return call.pauseTimeLimit();
    });
    const takenBack = new AbortController();
    const checkAgain = (): void => {
      if (signal.aborted || (calls.length > 0 && calls.every((call) => call.signal.aborted))) takenBack.abort();
    };
    const signals = [signal, ...calls.map((call) => call.signal)];
    for (const each of signals) each.addEventListener("abort", checkAgain, { once: true });
    checkAgain();
    try {
      return await answer(request, takenBack.signal);
    } finally {
      for (const each of signals) each.removeEventListener("abort", checkAgain);
      for (const go of resumes) go();
    }
  };
}
