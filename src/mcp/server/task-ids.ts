import { createHmac, timingSafeEqual } from "node:crypto";
import { canonicalJson } from "../../core/canonical-json.ts";

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
