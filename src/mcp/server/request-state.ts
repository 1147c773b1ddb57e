import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { canonicalJson } from "../../core/json.ts";

/** The state that a client returns with its answers. It is signed: the client can read it, but not change it. */
export interface RequestState {
  /** The request to continue. */
  id: string;
  /** The approval, if the client was asked for one. */
  question?: string;
  /** Unix milliseconds. */
  until: number;
}

/** What a state is bound to: it is invalid for another owner or request. */
export interface StateBinding {
  owner: string;
  method: string;
  params: unknown;
}

export const MIN_KEY_BYTES = 32;

export function createRequestStates(clock: Clock, key: Uint8Array = randomBytes(MIN_KEY_BYTES)) {
  if (key.length < MIN_KEY_BYTES) throw new RangeError(`stateKey needs at least ${MIN_KEY_BYTES} bytes.`);

  return {
    seal(state: RequestState, binding: StateBinding): string {
      // The nonce makes states unique, even if a request asks for the same twice.
      const text = JSON.stringify({ ...state, nonce: randomBytes(6).toString("base64url") });
      const body = Buffer.from(text).toString("base64url");
      return `${body}.${sign(body, binding).toString("base64url")}`;
    },
    /** Returns undefined if it was not sealed here with this binding, or has expired. */
    open(text: string, binding: StateBinding): RequestState | undefined {
      const [body, signature, ...more] = text.split(".");
      if (!body || !signature || more.length > 0) return undefined;
      const received = Buffer.from(signature, "base64url");
      const expected = sign(body, binding);
      if (received.length !== expected.length || !timingSafeEqual(received, expected)) return undefined;
      // Several texts decode to the same signature; only the canonical one is valid.
      if (received.toString("base64url") !== signature) return undefined;
      const state: RequestState = JSON.parse(Buffer.from(body, "base64url").toString());
      return state.until > clock.now() ? state : undefined;
    },
  };

  function sign(body: string, { owner, method, params }: StateBinding): Buffer {
    return createHmac("sha256", key)
      .update(canonicalJson(["haft.mcp", owner, method, digestOf(params), body]))
      .digest();
  }
}

export type RequestStates = ReturnType<typeof createRequestStates>;

export function digestOf(params: unknown): string {
  return createHash("sha256").update(canonicalJson(params)).digest("hex");
}

/** The id of a task is its job, signed for one identity: it needs no storage and survives a restart. */
export function createTaskIds(key: Uint8Array) {
  return {
    seal: (jobId: string, owner: string): string => `${jobId}.${sign(jobId, owner).toString("base64url")}`,
    /** The job id; undefined if the task id was not issued to this identity. */
    open(taskId: string, owner: string): string | undefined {
      const at = taskId.lastIndexOf(".");
      if (at < 1) return undefined;
      const jobId = taskId.slice(0, at);
      const received = Buffer.from(taskId.slice(at + 1), "base64url");
      const expected = sign(jobId, owner);
      return received.length === expected.length && timingSafeEqual(received, expected) ? jobId : undefined;
    },
  };

  function sign(jobId: string, owner: string): Buffer {
    return createHmac("sha256", key)
      .update(canonicalJson(["haft.mcp.task", owner, jobId]))
      .digest()
      .subarray(0, 18);
  }
}

export type TaskIds = ReturnType<typeof createTaskIds>;
