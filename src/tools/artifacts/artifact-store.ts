import type { MaybePromise } from "../../core/stage.ts";
import type { Artifact, ArtifactKey, ArtifactVersion, ArtifactVersionInfo } from "./artifact.ts";

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
  find(key: ArtifactKey): MaybePromise<Artifact | undefined>;
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
