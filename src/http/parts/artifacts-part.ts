import { ToolError } from "../../core/error.ts";
import type { Artifact } from "../../tools/artifacts/artifact.ts";
import type { ArtifactManager } from "../../tools/artifacts/artifact-manager.ts";
import { DoorError } from "../door-error.ts";
import type { ArtifactsPart } from "../host-parts.ts";
import type { ArtifactInfo } from "../wire.ts";

/** The artifacts of a host in the words of the wire. */
export function artifactsPart(manager: ArtifactManager): ArtifactsPart {
  return {
    async list({ session, limit, offset }) {
      const found = await manager.list({ limit: limit + 1, offset, ...(session === undefined ? {} : { session }) });
      const items = found.slice(0, limit).map(infoOf);
      return found.length > limit ? { items, next: String(offset + limit) } : { items };
    },
    read: (key, wanted) =>
      orMissing(async () => {
        const { artifact, version } = await manager.read(key, wanted);
        const { content, ...shown } = version;
        return { ...infoOf(artifact), shown, content };
      }),
    versions: (key) => orMissing(() => manager.versions(key)),
    diff: (key, between) => orMissing(() => manager.diff(key, between)),
  };
}

function infoOf({ session, ...artifact }: Artifact): ArtifactInfo {
  return session === "" ? artifact : { ...artifact, session };
}

async function orMissing<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const isMissing = error instanceof ToolError && (error.code === "path_not_found" || error.code === "bad_range");
    throw isMissing ? new DoorError("not_found", error.message) : error;
  }
}
