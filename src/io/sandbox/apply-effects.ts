import { failureText, toFailure, toolError, type ToolError } from "../../core/error.ts";
import type { Files, FoundEntry } from "../files/files.ts";
import { modeOf } from "../files/undo-plan.ts";
import { type EntryState, isSameState } from "../files/undo-store.ts";
import type { Effect } from "./effects.ts";

/** The paths, as shown to a model, that are no longer as they were before the command. */
export async function changedSince(effects: readonly Effect[], files: Files): Promise<string[]> {
  const changed: string[] = [];
  for (const { path, before } of effects)
    if (!isUnchanged(path, before, await files.entry(path))) changed.push(files.show(path));
  return changed;
}

/** Makes the effects, all or nothing. `contentOf` gives the new content of a file. */
export async function applyEffects(
  effects: readonly Effect[],
  files: Files,
  contentOf: (effect: Effect) => Promise<Buffer>,
): Promise<void> {
  if (effects.length === 0) return;
  await files.together((together) => new EffectWriter(together, contentOf).apply(effects));
}

type TakeBack = () => Promise<unknown>;

class EffectWriter {
  readonly #files: Files;
  readonly #contentOf: (effect: Effect) => Promise<Buffer>;
  readonly #done: TakeBack[] = [];

  constructor(files: Files, contentOf: (effect: Effect) => Promise<Buffer>) {
    this.#files = files;
    this.#contentOf = contentOf;
  }

  async apply(effects: readonly Effect[]): Promise<void> {
    const byPath = effects.toSorted((a, b) => (a.path < b.path ? -1 : 1));
    try {
      // The content of a folder before the folder, and everything that is gone before what takes its place.
      for (const effect of byPath.toReversed()) await this.#remove(effect);
      for (const effect of byPath) await this.#write(effect);
      // Last: a folder that may not be written could not be filled.
      for (const effect of byPath.toReversed()) await this.#setAttributes(effect);
    } catch (error) {
      throw failedPartway(error, await this.#takeBack());
    }
  }

  async #remove({ path, before, after }: Effect): Promise<void> {
    if (before.kind === "absent" || before.kind === after.kind) return;
    const found = await this.#require(path, before);
    if (before.kind === "directory") await this.#files.deleteDirectory(path);
    else await this.#files.deleteFile(path);
    this.#done.push(() => this.#create(path, before, contentIn(found)));
  }

  async #write(effect: Effect): Promise<void> {
    const { path, before, after } = effect;
    if (after.kind === "absent") return;
    if (before.kind !== after.kind) {
      if (before.kind === "absent") await this.#require(path, before);
      await this.#create(
        path,
        withOwnerAccess(after),
        after.kind === "file" ? await this.#contentOf(effect) : undefined,
      );
      this.#done.push(() => this.#delete(path, after));
      return;
    }
    const found = await this.#require(path, before);
    if (isSameState(before, after)) return;
    if (after.kind === "symlink") {
      await this.#files.deleteFile(path);
      this.#done.push(() => this.#create(path, before));
      await this.#files.makeEntry(path, after);
      this.#done.push(() => this.#files.deleteFile(path));
      return;
    }
    const old = contentIn(found);
    await this.#files.writeFileAtomic(path, await this.#contentOf(effect), { ifStamp: found.stamp });
    if (old) this.#done.push(() => this.#files.writeFileAtomic(path, old));
  }

  async #setAttributes({ path, before, after, modified }: Effect): Promise<void> {
    if (after.kind !== "file" && after.kind !== "directory") return;
    const old = before.kind === after.kind ? before.mode : undefined;
    await this.#files.setAttributes(path, { mode: after.mode, modified });
    if (old !== undefined && old !== after.mode) this.#done.push(() => this.#files.setAttributes(path, { mode: old }));
  }

  async #create(path: string, state: EntryState, bytes?: Buffer): Promise<void> {
    if (state.kind === "file" && bytes)
      await this.#files.writeFileAtomic(path, bytes, { ifAbsent: true, mode: state.mode });
    else if (state.kind === "directory" || state.kind === "symlink") await this.#files.makeEntry(path, state);
  }

  #delete(path: string, state: EntryState): Promise<void> {
    return state.kind === "directory" ? this.#files.deleteDirectory(path) : this.#files.deleteFile(path);
  }

  async #require(path: string, expected: EntryState): Promise<FoundEntry> {
    const found = await this.#files.entry(path);
    if (isUnchanged(path, expected, found)) return found;
    throw toolError("stale", `"${this.#files.show(path)}" was changed after the command was previewed`, {
      next: "Call it again: it is previewed anew.",
    });
  }

  /** Newest first. Returns whether something could not be restored. */
  async #takeBack(): Promise<boolean> {
    let isLeft = false;
    for (const step of this.#done.toReversed()) await step().catch(() => (isLeft = true));
    return isLeft;
  }
}

function isUnchanged(path: string, before: EntryState, { real, state }: FoundEntry): boolean {
  if (before.kind === "absent") return state.kind === "absent";
  return real === path && isSameState(before, state) && modeOf(before) === modeOf(state);
}

function contentIn({ state }: FoundEntry): Buffer | undefined {
  return state.kind === "file" ? state.bytes : undefined;
}

/** A folder without write access could not be filled. Its final mode is set at the end. */
function withOwnerAccess(state: EntryState): EntryState {
  return state.kind === "directory" && state.mode !== undefined ? { ...state, mode: state.mode | 0o700 } : state;
}

function failedPartway(error: unknown, isLeft: boolean): ToolError {
  const { code, message, next, data } = toFailure(error);
  if (!isLeft) {
    return toolError(code, failureText({ message, next: "Nothing was applied." }), { next, data, cause: error });
  }
  return toolError("io_error", `Applying the effects of the command failed halfway (${message})`, {
    next: "Not everything could be restored. Check the changes of this call with haft undo.",
    data,
    cause: error,
  });
}
