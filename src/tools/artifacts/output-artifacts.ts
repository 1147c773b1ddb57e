import type { Caller } from "../../core/call.ts";
import { ToolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { sessionOf } from "./artifact-store.ts";
import type { ArtifactManager } from "./artifact-manager.ts";

const PREFIX = "artifact:";

/** Stores outputs that are too long for a result. */
export interface OutputStore {
  save(output: Output): MaybePromise<{ ref: string; how?: string }>;
  read(ref: string): MaybePromise<string | undefined>;
}

interface Output {
  callId: string;
  toolName: string;
  text: string;
  caller: Partial<Caller>;
}

/** A tool that was called several times under one id has several outputs. */
const MAX_PER_CALL = 20;

/** Stores outputs as artifacts of the caller's session, or in `fallback` if they are too large. */
export function saveOutputsAsArtifacts(manager: ArtifactManager, fallback: OutputStore): OutputStore {
  return {
    async save(output) {
      const id = await saveArtifact(output).catch(() => undefined);
      if (id === undefined) return fallback.save(output);
      const how = `Continue with read_artifact ${JSON.stringify({ id })}, or search it with grep_artifact.`;
      return { ref: PREFIX + JSON.stringify([sessionOf(output.caller), id]), how };
    },
    async read(ref) {
      if (!ref.startsWith(PREFIX)) return fallback.read(ref);
      try {
        const [session, id]: [string, string] = JSON.parse(ref.slice(PREFIX.length));
        return (await manager.read({ session, id }, 1)).version.content;
      } catch {
        return undefined;
      }
    },
  };

  async function saveArtifact({ callId, toolName, text, caller }: Output): Promise<string | undefined> {
    const { agent, user } = caller;
    const author = { agent, user };
    const about = {
      title: `Output of ${toolName}`,
      contentType: "text/plain",
      content: text,
      origin: "output",
    } as const;
    const name = `output-${callId.replaceAll(/[^\p{L}\p{N}._-]/gu, "_").slice(0, 80)}`;
    for (let number = 1; number <= MAX_PER_CALL; number += 1) {
      const id = number === 1 ? name : `${name}-${number}`;
      try {
        await manager.create({ session: sessionOf(caller), id, ...about }, { author, callId });
        return id;
      } catch (error) {
        if (!(error instanceof ToolError) || error.code !== "path_exists") throw error;
      }
    }
    return undefined;
  }
}
