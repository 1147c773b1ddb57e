import type { Clock } from "../core/clock.ts";
import { type ErrorCode, ERROR_CODES, failureOf, ToolError, type ToolFailure } from "../core/error.ts";
import { isObject } from "../schema/json-schema.ts";
import type { AgentModel, ModelDelta, ModelRequest, ModelTurn } from "./agent-model.ts";

export interface CallModelOptions {
  clock: Clock;
  onDelta?: ((piece: ModelDelta) => void) | undefined;
}

/** Between two tries. As many tries as there are waits, and one. */
const WAITS_MS = [1_000, 4_000, 15_000];
const MAX_WAIT_MS = 60_000;

/** Asks, and asks again where waiting may help and nothing was said yet. Rejects with what the last try gave. */
export async function callModel(
  model: AgentModel,
  request: ModelRequest,
  { clock, onDelta }: CallModelOptions,
): Promise<ModelTurn> {
  for (let tries = 0; ; tries++) {
    let hasOutput = false;
    const listen = onDelta
      ? (piece: ModelDelta): void => {
          hasOutput = true;
          onDelta(piece);
        }
      : undefined;
    try {
      return await model.respond(request, listen);
    } catch (error) {
      const waitMs = WAITS_MS[tries];
      if (waitMs === undefined || hasOutput || request.signal.aborted || !isRetryable(error)) throw error;
      await pause(Math.max(waitMs, Math.min(retryAfterMs(error), MAX_WAIT_MS)), clock, request.signal);
      if (request.signal.aborted) throw error;
    }
  }
}

/** Why a model gave no answer, for whoever runs the agent. */
export function explainModelFailure(error: unknown, modelId: string): ToolFailure {
  if (error instanceof ToolError) return failureOf(error.code, error.message, error.name);
  const status = statusOf(error);
  const text = error instanceof Error ? error.message : typeof error === "string" ? error : "unknown reason";
  const code: ErrorCode = isRetryable(error) ? "unavailable" : "failed";
  const message = `The model ${modelId} gave no answer: ${text.replace(/\.$/, "")}. ${nextStep(status)}`;
  return failureOf(code, message, error instanceof Error ? error.name : "Error");
}

function nextStep(status: number | undefined): string {
  switch (status) {
    case 401:
    case 403:
      return "Check the API key, and whether it may use this model.";
    case 404:
      return "Check the model's name and the base URL.";
    case 400:
    case 413:
    case 422:
      return "The request was refused: check that the model takes tools (set `format` where it does not) and that the conversation is not too long.";
    case 429:
      return "Wait, or raise the provider's limits.";
    default:
      return "Check the connection and the base URL, then run again.";
  }
}

/** By what errors of the SDK say of themselves, and of connections. */
function isRetryable(error: unknown): boolean {
  if (error instanceof ToolError) return ERROR_CODES[error.code].retryable;
  if (!isObject(error)) return false;
  if (typeof error["isRetryable"] === "boolean") return error["isRetryable"];
  const status = statusOf(error);
  if (status !== undefined) return status === 408 || status === 409 || status === 429 || status >= 500;
  return typeof error["code"] === "string" && /^(?:ECONN|ETIMEDOUT|EPIPE|UND_ERR)/.test(error["code"]);
}

function statusOf(error: unknown): number | undefined {
  return isObject(error) && typeof error["statusCode"] === "number" ? error["statusCode"] : undefined;
}

function retryAfterMs(error: unknown): number {
  const headers = isObject(error) ? error["responseHeaders"] : undefined;
  const seconds = isObject(headers) ? Number(headers["retry-after"]) : Number.NaN;
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : 0;
}

function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      timer.cancel();
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = clock.after(ms, end);
    signal.addEventListener("abort", end);
    if (signal.aborted) end();
  });
}
