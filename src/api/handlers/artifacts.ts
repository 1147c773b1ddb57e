import type { ArtifactInfo, artifacts } from "../../contracts/artifacts.ts";
import type { Handlers } from "../../contracts/contract.ts";
import { ApiError } from "../../contracts/errors.ts";
import { ToolError } from "../../core/error.ts";
import type { ArtifactManager } from "../../tools/artifacts/artifact-manager.ts";
import type { Artifact } from "../../tools/artifacts/artifact-store.ts";

const DEFAULT_LIMIT = 100;

/** Artifacts of callers without a session have the session "". */
export function createArtifactsApi(manager: ArtifactManager): Handlers<typeof artifacts> {
  return {
    async list({ query: { session, limit = DEFAULT_LIMIT, cursor } }) {
      const offset = offsetOf(cursor);
      const found = await manager.list({ limit: limit + 1, offset, session });
      const next = found.length > limit ? String(offset + limit) : undefined;
      return { items: found.slice(0, limit).map(infoOf), next };
    },
    get: ({ params: { id }, query: { session = "", version } }) =>
      orNotFound(async () => {
        const read = await manager.read({ id, session }, version);
        const { content, ...shown } = read.version;
        return { ...infoOf(read.artifact), shown, content };
      }),
    versions: ({ params: { id }, query: { session = "" } }) =>
      orNotFound(async () => ({ items: await manager.versions({ id, session }) })),
    diff: ({ params: { id }, query: { session = "", from, to } }) =>
      orNotFound(() => manager.diff({ id, session }, { from, to })),
  };
}

function offsetOf(cursor = "0"): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
  throw new ApiError("bad_request", '"cursor" is not a cursor of this list', "Send `next` of the previous page.");
}

function infoOf({ session, ...artifact }: Artifact): ArtifactInfo {
  return { ...artifact, session: session === "" ? undefined : session };
}

async function orNotFound<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const isMissing = error instanceof ToolError && (error.code === "path_not_found" || error.code === "bad_range");
    throw isMissing ? new ApiError("not_found", error.message) : error;
  }
}
