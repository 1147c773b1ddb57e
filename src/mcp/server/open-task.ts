import type { InputRequest, InputRequests } from "@modelcontextprotocol/server";
import { toolError } from "../../core/error.ts";
import { isAnswer } from "./input-answers.ts";

interface PendingInput {
  request: InputRequest;
  answer(response: unknown): void;
}

/** What a job of this process asks the client that follows it as a task. */
export class OpenTask {
  readonly #requested = new Map<string, PendingInput>();
  /** A key never means a second thing: clients tell by it what they were asked before. */
  readonly #used = new Set<string>();
  readonly #ended = new AbortController();

  /** What waits for an answer now. */
  get requests(): InputRequests | undefined {
    if (this.#requested.size === 0) return undefined;
    return Object.fromEntries([...this.#requested].map(([key, { request }]) => [key, request]));
  }

  async ask(requests: InputRequests): Promise<Record<string, unknown>> {
    const answers = Object.entries(requests).map(
      async ([key, request]) => [key, await this.#requestOne(key, request)] as const,
    );
    return Object.fromEntries(await Promise.all(answers));
  }

  /** Answers to what is not asked (any more), and what is no answer, are passed over. */
  answer(responses: Readonly<Record<string, unknown>>): void {
    for (const [key, response] of Object.entries(responses)) {
      const requested = this.#requested.get(key);
      if (!requested || !isAnswer(requested.request, response)) continue;
      this.#requested.delete(key);
      requested.answer(response);
    }
  }

  end(): void {
    this.#ended.abort();
    this.#requested.clear();
  }

  #requestOne(name: string, request: InputRequest): Promise<unknown> {
    const { signal } = this.#ended;
    let key = name;
    for (let count = 2; this.#used.has(key); count++) key = `${name}_${count}`;
    this.#used.add(key);
    return new Promise((resolve, reject) => {
      const leave = (): void => reject(toolError("cancelled", "The task has ended, and nobody answers any more"));
      if (signal.aborted) return leave();
      signal.addEventListener("abort", leave, { once: true });
      this.#requested.set(key, {
        request,
        answer: (response) => (signal.removeEventListener("abort", leave), resolve(response)),
      });
    });
  }
}
