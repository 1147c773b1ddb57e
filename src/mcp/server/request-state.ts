import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { canonicalJson } from "../../core/json.ts";

/** What a client is given to hold while it asks its person. It can read it, and cannot change it. */
export interface RequestState {
  /** The request that goes on when the client comes back. */
  id: string;
  /** The approval that was asked about; none where a tool itself asks. */
  question?: string;
  /** Unix milliseconds. */
  until: number;
}

/** What a state is good for: nobody else, nothing else. */
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
      // Told apart also where a request asks the same thing twice.
      const body = Buffer.from(JSON.stringify({ ...state, nonce: randomBytes(6).toString("base64url") })).toString(
        "base64url",
      );
      return `${body}.${sign(body, binding).toString("base64url")}`;
    },
    /** Undefined where it was not sealed here for exactly this, or is over. */
    open(text: string, binding: StateBinding): RequestState | undefined {
      const [body, signature, ...more] = text.split(".");
      if (!body || !signature || more.length > 0) return undefined;
      const given = Buffer.from(signature, "base64url");
      const right = sign(body, binding);
      if (given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
      // Not every text that decodes to the signature is the one that was given.
      if (given.toString("base64url") !== signature) return undefined;
      const state = JSON.parse(Buffer.from(body, "base64url").toString()) as RequestState;
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

/**
 * The id of a task names its job and is signed for one identity: nobody else can ask for it, and no list of tasks must be
 * kept, so that with a kept key it counts after a restart and in every process that shares the jobs.
 */
export function createTaskIds(key: Uint8Array) {
  return {
    seal: (jobId: string, owner: string): string => `${jobId}.${sign(jobId, owner).toString("base64url")}`,
    /** The job; undefined where the id was not given to this identity. */
    open(taskId: string, owner: string): string | undefined {
      const at = taskId.lastIndexOf(".");
      if (at < 1) return undefined;
      const jobId = taskId.slice(0, at);
      const given = Buffer.from(taskId.slice(at + 1), "base64url");
      const right = sign(jobId, owner);
      return given.length === right.length && timingSafeEqual(given, right) ? jobId : undefined;
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
