import type { Caller } from "../../core/call.ts";
import type { MaybePromise } from "../../core/stage.ts";

/** How a version came about; `update_fuzzy` where the replaced text was not quoted exactly. */
export type ArtifactUpdateType = "create" | "update" | "update_fuzzy" | "rewrite";

/** An artifact belongs to a session; those of callers without one are the session "". */
export interface ArtifactKey {
  readonly session: string;
  readonly id: string;
}

/** A document with versions. */
export interface Artifact extends ArtifactKey {
  readonly title: string;
  readonly contentType: string;
  /** `output`: kept by the gate because it was too long for a result, and not for ever. */
  readonly origin: "made" | "output";
  /** The newest one. */
  readonly version: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ArtifactVersionInfo {
  /** From 1. */
  readonly version: number;
  readonly type: ArtifactUpdateType;
  readonly author: { readonly agent?: string; readonly user?: string };
  readonly callId?: string;
  readonly at: number;
  readonly characters: number;
  /** Of an `update_fuzzy`: how like the quoted text was to what was replaced, from 0 to 1. */
  readonly similarity?: number;
}

export interface ArtifactVersion extends ArtifactVersionInfo {
  readonly content: string;
}

/** So long a document can be; longer ones are files. */
export const MAX_CHARACTERS = 2_000_000;
export const MAX_VERSIONS = 1_000;

/** Subagents work on the documents of whoever started them: the outermost session counts. */
export function sessionOf(caller: Partial<Caller>): string {
  let session = "";
  for (let one: Partial<Caller> | undefined = caller; one; one = one.parent) session = one.session ?? session;
  return session;
}

export interface ArtifactQuery {
  /** All sessions where absent. */
  session?: string;
  limit: number;
  /** So many of the newest are left out. */
  offset?: number;
}

/** Where artifacts are kept. Versions are only added; of two who add the same one, one is told no. */
export interface ArtifactStore {
  /** With its version 1; false where the id is taken. */
  create(artifact: Artifact, first: ArtifactVersion): MaybePromise<boolean>;
  /** Without its content. */
  find(key: ArtifactKey): MaybePromise<Artifact | undefined>;
  /** One version with its content. */
  read(key: ArtifactKey, version: number): MaybePromise<ArtifactVersion | undefined>;
  /** Newest first. */
  versions(key: ArtifactKey): MaybePromise<ArtifactVersionInfo[]>;
  /** False where the newest version is not the one before. */
  append(key: ArtifactKey, version: ArtifactVersion): MaybePromise<boolean>;
  /** What was changed last comes first. */
  list(query: ArtifactQuery): MaybePromise<Artifact[]>;
  /** Drops kept outputs that are older. */
  pruneOutputs(before: number): MaybePromise<void>;
}

export class MemoryArtifactStore implements ArtifactStore {
  readonly #artifacts = new Map<string, { artifact: Artifact; versions: ArtifactVersion[] }>();

  create(artifact: Artifact, first: ArtifactVersion): boolean {
    const key = keyOf(artifact);
    if (this.#artifacts.has(key)) return false;
    this.#artifacts.set(key, { artifact, versions: [first] });
    return true;
  }

  find(key: ArtifactKey): Artifact | undefined {
    return this.#artifacts.get(keyOf(key))?.artifact;
  }

  read(key: ArtifactKey, version: number): ArtifactVersion | undefined {
    return this.#artifacts.get(keyOf(key))?.versions[version - 1];
  }

  versions(key: ArtifactKey): ArtifactVersionInfo[] {
    const { versions = [] } = this.#artifacts.get(keyOf(key)) ?? {};
    return versions.map(({ content: _, ...info }) => info).reverse();
  }

  append(key: ArtifactKey, version: ArtifactVersion): boolean {
    const kept = this.#artifacts.get(keyOf(key));
    if (kept?.artifact.version !== version.version - 1) return false;
    kept.versions.push(version);
    kept.artifact = { ...kept.artifact, version: version.version, updatedAt: version.at };
    return true;
  }

  list({ session, limit, offset = 0 }: ArtifactQuery): Artifact[] {
    return [...this.#artifacts.values()]
      .map(({ artifact }) => artifact)
      .filter((artifact) => session === undefined || artifact.session === session)
      .sort((a, b) => b.updatedAt - a.updatedAt || (keyOf(a) < keyOf(b) ? -1 : 1))
      .slice(offset, offset + limit);
  }

  pruneOutputs(before: number): void {
    for (const [key, { artifact }] of this.#artifacts) {
      if (artifact.origin === "output" && artifact.updatedAt < before) this.#artifacts.delete(key);
    }
  }
}

function keyOf({ session, id }: ArtifactKey): string {
  return JSON.stringify([session, id]);
}
