import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../../core/error.ts";
import { ensureStateFolder, STATE_FILES } from "../files/state-folder.ts";
import { type CallOwner, hashOf } from "../files/undo-store.ts";
import type { Effect } from "./effects.ts";

/** What a command did in a view, until a person has decided about it. */
export interface RecordedRun<Result = unknown> {
  effects: readonly Effect[];
  /** Paths whose content must not be shown. */
  secrets: readonly string[];
  /** Paths that it must not change; see `ViewEffects`. */
  guarded: readonly string[];
  /** What the call returns once the effects are applied. */
  result: Result;
}

/** A question can be answered for a day. */
const LIFETIME_MS = 2 * 24 * 60 * 60_000;
const MAX_TOTAL_BYTES = 512 * 1024 * 1024;
const PRUNE_EVERY_MS = 60_000;
const RECORD = "record.json";

/** Keeps recorded runs for every process. One that is gone is made again, and the person is asked if it differs. */
export class PreviewStore<Result = unknown> {
  readonly #stateFolder: () => string;
  #prunedAt = 0;

  constructor(stateFolder: () => string) {
    this.#stateFolder = stateFolder;
  }

  static keyOf(callId: string, { session, user, agent }: CallOwner): string {
    return createHash("sha256")
      .update(JSON.stringify([session, user, agent, callId]))
      .digest("hex")
      .slice(0, 40);
  }

  /** Returns what is recorded now. Small files are written faster without a thread, and the person waits. */
  save(key: string, run: RecordedRun<Result>, contents: ReadonlyMap<string, Buffer>): RecordedRun<Result> | undefined {
    const folder = this.#path;
    ensureStateFolder(folder);
    this.#prune(folder);
    const unfinished = mkdtempSync(join(folder, "new-"));
    for (const bytes of contents.values()) writeFileSync(join(unfinished, hashOf(bytes)), bytes, { mode: 0o600 });
    writeFileSync(join(unfinished, RECORD), JSON.stringify(run), { mode: 0o600 });
    rmSync(join(folder, key), { recursive: true, force: true });
    try {
      renameSync(unfinished, join(folder, key));
    } catch (error) {
      // Another process has recorded the same call. Its record is shown then.
      rmSync(unfinished, { recursive: true, force: true });
      if (!["ENOTEMPTY", "EEXIST"].includes(String(errorCode(error)))) throw error;
    }
    return this.load(key);
  }

  load(key: string): RecordedRun<Result> | undefined {
    try {
      return JSON.parse(readFileSync(join(this.#path, key, RECORD), "utf8")) as RecordedRun<Result>;
    } catch (error) {
      if (errorCode(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
      throw error;
    }
  }

  /** The new content of a file. Undefined if it is gone or damaged. */
  async contentOf(key: string, { after }: Effect): Promise<Buffer | undefined> {
    if (after.kind !== "file" || after.hash === undefined) return undefined;
    try {
      const bytes = await readFile(join(this.#path, key, after.hash));
      return hashOf(bytes) === after.hash ? bytes : undefined;
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async remove(key: string): Promise<void> {
    await rm(join(this.#path, key), { recursive: true, force: true });
  }

  get #path(): string {
    return join(this.#stateFolder(), STATE_FILES.previews);
  }

  /** Nobody may ever answer. The oldest are removed first. */
  #prune(folder: string): void {
    if (Date.now() - this.#prunedAt < PRUNE_EVERY_MS) return;
    this.#prunedAt = Date.now();
    const found = readdirSync(folder).map((name) => {
      const path = join(folder, name);
      return { path, at: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0, bytes: sizeOf(path) };
    });
    let total = 0;
    for (const { path, at, bytes } of found.toSorted((a, b) => b.at - a.at)) {
      total += bytes;
      if (total > MAX_TOTAL_BYTES || Date.now() - at > LIFETIME_MS) rmSync(path, { recursive: true, force: true });
    }
  }
}

/** 0 if it was just removed. */
function sizeOf(folder: string): number {
  try {
    return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
  } catch {
    return 0;
  }
}
