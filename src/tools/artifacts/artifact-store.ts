import type { Caller } from "../../core/call.ts";
import type { MaybePromise } from "../../core/stage.ts";

/** How a version was made. `update_fuzzy`: the replaced text was not quoted exactly. */
export type ArtifactUpdateType = "create" | "update" | "update_fuzzy" | "rewrite";

/** An artifact belongs to a session; callers without one share the session "". */
export interface ArtifactKey {
  readonly session: string;
  readonly id: string;
}

/** A document with versions. */
export interface Artifact extends ArtifactKey {
  readonly title: string;
  readonly contentType: string;
  /** `output`: stored by the gate because it was too long for a result; it is pruned later. */
  readonly origin: "made" | "output";
  /** The newest version. */
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
  /** For `update_fuzzy`: the similarity of the quoted and the replaced text, from 0 to 1. */
  readonly similarity?: number;
}

export interface ArtifactVersion extends ArtifactVersionInfo {
  readonly content: string;
}

/** Longer documents must be files. */
export const MAX_CHARACTERS = 2_000_000;
export const MAX_VERSIONS = 1_000;

/** Subagents share the artifacts of the outermost session. */
export function sessionOf(caller: Partial<Caller>): string {
  let session = "";
  for (let each: Partial<Caller> | undefined = caller; each; each = each.parent) session = each.session ?? session;
  return session;
}

export interface ArtifactQuery {
  /** Default: all sessions. */
  session?: string;
  limit: number;
  /** Skip this many. */
  offset?: number;
}

/** Stores artifacts. Versions are only added; if two writers add the same version, one fails. */
export interface ArtifactStore {
  /** Creates it with version 1; false if the id is taken. */
  create(artifact: Artifact, first: ArtifactVersion): MaybePromise<boolean>;
  /** Without its content. */
  find(key: ArtifactKey): MaybePromise<Artifact | undefined>;
  /** One version with its content. */
  read(key: ArtifactKey, version: number): MaybePromise<ArtifactVersion | undefined>;
  /** Newest first. */
  versions(key: ArtifactKey): MaybePromise<ArtifactVersionInfo[]>;
  /** False if the newest version is not the previous one. */
  append(key: ArtifactKey, version: ArtifactVersion): MaybePromise<boolean>;
  /** The most recently changed first. */
  list(query: ArtifactQuery): MaybePromise<Artifact[]>;
  /** Deletes older artifacts of origin `output`. */
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
    const stored = this.#artifacts.get(keyOf(key));
    if (stored?.artifact.version !== version.version - 1) return false;
    stored.versions.push(version);
    stored.artifact = { ...stored.artifact, version: version.version, updatedAt: version.at };
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
