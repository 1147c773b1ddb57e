import type { ClientCapabilities, InputRequest, InputRequests } from "@modelcontextprotocol/server";
import { canShowForm } from "./round.ts";

const NEEDED: Record<InputRequest["method"], string> = {
  "elicitation/create": "action",
  "sampling/createMessage": "content",
  "roots/list": "roots",
};

export function isAnswer({ method }: InputRequest, response: unknown): boolean {
  return typeof response === "object" && response !== null && NEEDED[method] in response;
}

/** The answers to these requests and nothing else; undefined where one is missing, or is no answer. */
export function readAnswers(
  requests: InputRequests,
  responses: Readonly<Record<string, unknown>>,
): Record<string, unknown> | undefined {
  const answers: Record<string, unknown> = {};
  for (const [key, request] of Object.entries(requests)) {
    const answer = Object.hasOwn(responses, key) ? responses[key] : undefined;
    if (!isAnswer(request, answer)) return undefined;
    answers[key] = answer;
  }
  return answers;
}

/** What a client would have to be able to do to answer, and is not. */
export function missingFor(request: InputRequest, capabilities: ClientCapabilities): ClientCapabilities | undefined {
  switch (request.method) {
    case "elicitation/create": {
      const isUrl = (request.params as { mode?: string }).mode === "url";
      if (isUrl) return capabilities.elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined;
      return canShowForm(capabilities) ? undefined : { elicitation: {} };
    }
    case "sampling/createMessage":
      return capabilities.sampling === undefined ? { sampling: {} } : undefined;
    case "roots/list":
      return capabilities.roots === undefined ? { roots: {} } : undefined;
  }
}
