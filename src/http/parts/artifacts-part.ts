import { ToolError } from "../../core/error.ts";
import type { Artifact } from "../../tools/artifacts/artifact-store.ts";
import type { ArtifactManager } from "../../tools/artifacts/artifact-manager.ts";
import { HttpError } from "../door-error.ts";
import type { ArtifactsCapability } from "../host-parts.ts";
import type { ArtifactInfo } from "../wire.ts";

/** The artifacts of a host in the words of the wire. */
export function artifactsCapability(manager: ArtifactManager): ArtifactsCapability {
  return {
    async list({ session, limit, offset }) {
      const found = await manager.list({ limit: limit + 1, offset, session });
      const items = found.slice(0, limit).map(infoOf);
      return found.length > limit ? { items, next: String(offset + limit) } : { items };
    },
    read: (key, wanted) =>
      orNotFound(async () => {
        const { artifact, version } = await manager.read(key, wanted);
        const { content, ...shown } = version;
        return { ...infoOf(artifact), shown, content };
      }),
    versions: (key) => orNotFound(() => manager.versions(key)),
    diff: (key, between) => orNotFound(() => manager.diff(key, between)),
  };
}

function infoOf({ session, ...artifact }: Artifact): ArtifactInfo {
  return session === "" ? artifact : { ...artifact, session };
}

async function orNotFound<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const isMissing = error instanceof ToolError && (error.code === "path_not_found" || error.code === "bad_range");
    throw isMissing ? new HttpError("not_found", error.message) : error;
  }
}
