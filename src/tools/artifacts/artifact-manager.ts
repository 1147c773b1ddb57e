import { type Clock, systemClock } from "../../core/clock.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { nearestNames } from "../../core/nearest-name.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { unifiedDiff, type UnifiedDiff } from "../../io/files/unified-diff.ts";
import {
  type Artifact,
  type ArtifactKey,
  type ArtifactQuery,
  type ArtifactStore,
  type ArtifactUpdateType,
  type ArtifactVersion,
  type ArtifactVersionInfo,
  MAX_CHARACTERS,
  MAX_VERSIONS,
  MemoryArtifactStore,
} from "./artifact-store.ts";
import { type Replaced, replaceIn } from "./fuzzy-replace.ts";

/** Who made a version. */
export interface Authorship {
  author: ArtifactVersion["author"];
  callId?: string;
}

export interface NewArtifact extends ArtifactKey {
  title?: string;
  contentType?: string;
  content: string;
  origin?: Artifact["origin"];
}

export interface ArtifactChange {
  artifact: Artifact;
  version: ArtifactVersion;
}

interface VersionCondition {
  /** Fail unless this is still the newest version. */
  expectedVersion?: number;
}

/** Documents with versions. Used by the artifact tools, the API and the console. */
export interface ArtifactManager {
  /** Makes an artifact with its first version. */
  create(artifact: NewArtifact, by: Authorship): Promise<ArtifactChange>;
  /** Default: the newest version. */
  read(key: ArtifactKey, version?: number): Promise<ArtifactChange>;
  /** Newest first. */
  versions(key: ArtifactKey): Promise<ArtifactVersionInfo[]>;
  /** Replaces a part of the newest version. */
  update(
    key: ArtifactKey,
    change: { oldText: string; newText: string; signal?: AbortSignal } & VersionCondition,
    by: Authorship,
  ): Promise<ArtifactChange & { replaced: Replaced }>;
  /** Replaces the whole content. */
  rewrite(key: ArtifactKey, change: { content: string } & VersionCondition, by: Authorship): Promise<ArtifactChange>;
  /** The last changed first. */
  list(query: ArtifactQuery): Promise<Artifact[]>;
  /** Default: from the previous to the newest version. */
  diff(
    key: ArtifactKey,
    versions?: { from?: number; to?: number },
  ): Promise<UnifiedDiff & { from: number; to: number }>;
  /** Called for changes by this manager. Changes of other processes are not reported. */
  onChanged(listener: (artifact: Artifact) => void): () => void;
}

/** Retries after a concurrent change, unless the caller expects a version. */
const MAX_ATTEMPTS = 5;
const MAX_DIFF_BYTES = 1024 * 1024;

/** Makes a manager over a store. Default: in memory. */
export function createArtifactManager({
  store = new MemoryArtifactStore(),
  clock = systemClock,
}: { store?: ArtifactStore; clock?: Clock } = {}): ArtifactManager {
  const listeners = new Set<(artifact: Artifact) => void>();

  return {
    async create({ session, id, title = id, contentType = "text/markdown", content, origin = "made" }, by) {
      checkLength(content);
      const at = clock.now();
      const artifact = { session, id, title, contentType, origin, version: 1, createdAt: at, updatedAt: at };
      const version = { version: 1, type: "create" as const, ...by, at, characters: content.length, content };
      if (!(await store.create(artifact, version))) throw taken(id);
      return notifyChanged({ artifact, version });
    },
    read,
    async versions(key) {
      await find(key);
      return store.versions(key);
    },
    async update(key, { oldText, newText, expectedVersion, signal }, by) {
      return change(key, by, expectedVersion, async (before) => {
        const replaced = await replaceIn(before, { oldText, newText }, signal).catch((cause: unknown) => {
          throw signal?.aborted ? toolError("cancelled", "The artifact was not changed", { cause }) : cause;
        });
        const { step, similarity, content } = replaced;
        const isExact = step === "exact";
        return {
          version: { type: isExact ? "update" : "update_fuzzy", content, similarity: isExact ? undefined : similarity },
          result: { replaced },
        };
      });
    },
    rewrite: (key, { content, expectedVersion }, by) =>
      change(key, by, expectedVersion, (before) => {
        if (before === content) throw toolError("no_change", "The artifact already has exactly this content");
        return { version: { type: "rewrite", content }, result: {} };
      }),
    list: async (query) => store.list(query),
    async diff(key, { from, to } = {}) {
      const newest = (await find(key)).version;
      const until = to ?? newest;
      const since = from ?? Math.max(1, until - 1);
      const [before, after] = [await read(key, since), await read(key, until)];
      const texts = { before: before.version.content, after: after.version.content };
      const diff = await unifiedDiff(texts, { path: key.id, maxBytes: MAX_DIFF_BYTES });
      return { ...diff, from: since, to: until };
    },
    onChanged(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };

  async function find(key: ArtifactKey): Promise<Artifact> {
    const artifact = await store.find(key);
    if (artifact) return artifact;
    const others = await store.list({ session: key.session, limit: 200 });
    throw notFound(
      key.id,
      others.map(({ id }) => id),
    );
  }

  async function read(key: ArtifactKey, number?: number): Promise<ArtifactChange> {
    const artifact = await find(key);
    const version = await store.read(key, number ?? artifact.version);
    if (!version) throw unknownVersion(key.id, number ?? artifact.version, artifact.version);
    return { artifact, version };
  }

  async function change<Result extends object>(
    key: ArtifactKey,
    by: Authorship,
    expected: number | undefined,
    make: (before: string) => MaybePromise<{ version: NewVersion; result: Result }>,
  ): Promise<ArtifactChange & Result> {
    for (let attempt = 1; ; attempt += 1) {
      const { artifact, version: newest } = await read(key);
      if (expected !== undefined && expected !== newest.version) throw changedSince(key.id, expected, newest.version);
      if (newest.version >= MAX_VERSIONS) throw tooManyVersions(key.id);
      const { version: made, result } = await make(newest.content);
      checkLength(made.content);
      const at = Math.max(clock.now(), artifact.updatedAt);
      const { content, ...facts } = made;
      const version = { version: newest.version + 1, ...facts, ...by, at, characters: content.length, content };
      if (await store.append(key, version)) {
        const changed = { ...artifact, version: version.version, updatedAt: at };
        return { ...notifyChanged({ artifact: changed, version }), ...result };
      }
      if (attempt === MAX_ATTEMPTS) throw changedSince(key.id, newest.version, newest.version + 1);
    }
  }

  function notifyChanged(changed: ArtifactChange): ArtifactChange {
    for (const listener of listeners) listener(changed.artifact);
    return changed;
  }
}

interface NewVersion {
  type: ArtifactUpdateType;
  content: string;
  similarity?: number;
}

function checkLength({ length }: string): void {
  if (length > MAX_CHARACTERS) throw tooLong(length);
}

function notFound(id: string, others: readonly string[]): ToolError {
  const near = nearestNames(id, others);
  const known = (near.length > 0 ? near : others.slice(0, 10)).map((name) => `"${name}"`).join(", ");
  const next =
    others.length === 0
      ? "This session has none yet: create it with create_artifact."
      : `${near.length > 0 ? "Did you mean" : "There are"}: ${known}? list_artifacts shows all.`;
  return toolError("path_not_found", `There is no artifact "${id}" in this session`, { next, data: { near } });
}

function taken(id: string): ToolError {
  return toolError("path_exists", `The artifact "${id}" already exists`, {
    next: "Change it with update_artifact or rewrite_artifact, or choose another id.",
  });
}

function unknownVersion(id: string, version: number, newest: number): ToolError {
  return toolError("bad_range", `The artifact "${id}" has no version ${version}`, {
    next: newest === 1 ? "There is only version 1." : `There are versions 1 to ${newest}.`,
    data: { newest },
  });
}

function changedSince(id: string, expected: number, newest: number): ToolError {
  return toolError("stale", `The artifact "${id}" is now at version ${newest}, not ${expected}`, {
    next: "Read it again (diff_artifact shows what changed), then repeat the change on that version.",
    data: { expected, newest },
  });
}

function tooLong(characters: number): ToolError {
  return toolError("too_large", `The content has ${characters} characters; the limit is ${MAX_CHARACTERS}`, {
    next: "Split it into several artifacts, or write a file.",
  });
}

function tooManyVersions(id: string): ToolError {
  return toolError("too_large", `The artifact "${id}" has ${MAX_VERSIONS} versions, which is the limit`, {
    next: "Continue in a new artifact.",
  });
}
