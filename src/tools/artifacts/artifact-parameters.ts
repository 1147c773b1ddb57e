import { z } from "zod";
import type { ToolContext } from "../../core/tool.ts";
import { sessionOf, type ArtifactKey } from "./artifact.ts";
import type { Authorship } from "./artifact-manager.ts";

/** Letters and digits of any script, so that an id can stand in an address and on a command line. */
const ID = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]{0,127}$/u;

export const artifactId = z
  .string()
  .regex(ID, "an id is 1 to 128 letters, digits, dots, hyphens and underscores, and begins with a letter or digit")
  .describe("The artifact's id: letters, digits, . - _");

export const versionNumber = z.number().int().min(1);
export const expectedVersion = versionNumber
  .optional()
  .describe("The version that you read: fails when there is a newer one by now");

export const ID_ALIASES = { artifact_id: "id", artifactId: "id", expectedVersion: "expected_version" } as const;

export function keyOf(id: string, { caller }: Pick<ToolContext, "caller">): ArtifactKey {
  return { session: sessionOf(caller), id };
}

export function authorshipOf({ caller: { agent, user }, callId }: ToolContext): Authorship {
  return { author: { ...(agent === undefined ? {} : { agent }), ...(user === undefined ? {} : { user }) }, callId };
}

/** Changes of one artifact never overlap in one process; between processes its version decides. */
export function artifactLock({ id }: { id: string }): string[] {
  return [`artifact:${id}`];
}
