import { isUtf8 } from "node:buffer";
import type { Preview } from "../../core/tool.ts";
import type { Files } from "../../io/files/files.ts";
import { isInside } from "../../io/files/path-policy.ts";
import { isBinary } from "../../io/files/text-encoding.ts";
import type { EntryState } from "../../io/files/undo-store.ts";
import { unifiedDiff } from "../../io/files/unified-diff.ts";
import type { Effect } from "../../io/sandbox/effects.ts";
import type { ViewEffects } from "../../io/sandbox/view.ts";
import { showHiddenCharacters, showName } from "../../io/shell/terminal-text.ts";

const MAX_SHOWN_OUTPUT = 6000;

/** The beginning and the end of an output. */
export function clip(output: string): string {
  if (output.length <= MAX_SHOWN_OUTPUT) return output;
  const half = MAX_SHOWN_OUTPUT / 2;
  const cut = output.length - MAX_SHOWN_OUTPUT;
  return `${output.slice(0, half)}\n[… ${cut} characters of the output are not shown …]\n${output.slice(-half)}`;
}

const MAX_LISTED = 200;
const MAX_DIFF_BYTES = 12 * 1024;
const MAX_DIFFS_BYTES = 40 * 1024;
/** Files whose differences are computed before others may use the thread. */
const AT_ONCE = 20;

export interface DescribedEffects {
  /** One for each changed file, the most dangerous first. What git writes for itself in `.git` is only counted. */
  lines: string[];
  diffs: string[];
  /** Of all files. */
  counts: NonNullable<Preview["counts"]>;
  /** What `lines` and `diffs` leave out. */
  omitted: string[];
  /** Every line and every difference, if something is left out. */
  whole?: string;
}

export async function describeEffects(
  effects: readonly Effect[],
  { contents, secrets }: ViewEffects,
  files: Files,
): Promise<DescribedEffects> {
  const ofGit = effects.filter(isOfGit);
  const others = effects.filter((effect) => !isOfGit(effect));
  const refs = await refsAmong(others, contents, files);
  // In `.git` the name decides what a file does, so its content is shown.
  const renamed = renamesAmong(others.filter(({ path }) => belowGit(path) === undefined || refs.has(path)));
  const sources = new Set(renamed.values());
  const listed = others
    .filter(({ path }) => !sources.has(path))
    .sort((one, other) => dangerOf(one, renamed) - dangerOf(other, renamed));
  const all = listed.map((effect) => summarise(effect, { renamed, secrets, files }) + (refs.get(effect.path) ?? ""));
  const lines = all.slice(0, MAX_LISTED);
  const omitted: string[] = [];
  if (listed.length > MAX_LISTED) omitted.push(`the names of ${listed.length - MAX_LISTED} changed files`);
  lines.push(...countOfGit(ofGit));
  all.push(...ofGit.map((effect) => summarise(effect, { renamed, secrets, files })));
  const diffs: string[] = [];
  const whole: string[] = [];
  const unshown: string[] = [];
  const cut: string[] = [];
  const counts = { files: effects.filter(isFileChange).length, added: 0, removed: 0 };
  let left = MAX_DIFFS_BYTES;
  for (const [at, effect] of listed.entries()) {
    if (renamed.has(effect.path) || refs.has(effect.path) || !isContentChange(effect)) continue;
    if (secrets.has(effect.path)) {
      if (effect.after.kind === "file") unshown.push(showName(files.show(effect.path)));
      continue;
    }
    if (at % AT_ONCE === AT_ONCE - 1) await new Promise<void>((resolve) => setImmediate(resolve));
    const [before, after] = await Promise.all([oldText(effect, files), newText(effect, contents)]);
    const path = files.show(effect.path);
    if (before === null || after === null) {
      unshown.push(showName(path));
      whole.push(`${showName(path)}: its content is not text`);
      continue;
    }
    const diff = await unifiedDiff({ before, after }, { path, maxBytes: Math.max(0, Math.min(left, MAX_DIFF_BYTES)) });
    counts.added += diff.added;
    counts.removed += diff.removed;
    left -= diff.text.length;
    if (diff.text !== "") diffs.push(showHiddenCharacters(diff.text.trimEnd()));
    if (diff.omitted !== undefined) cut.push(`${diff.omitted} of ${showName(path)}`);
    whole.push(showHiddenCharacters((diff.whole ?? diff.text).trimEnd()));
  }
  omitted.push(...someOf(cut));
  if (unshown.length > 0) omitted.push(`the content of ${someOf(unshown).join(", ")}`);
  const isCut = omitted.length > 0 || ofGit.length > 0;
  return { lines, diffs, counts, omitted, whole: isCut ? [...all, "", ...whole].join("\n") : undefined };
}

/** A line for each temporary file. Where they really are does not matter to a person. */
export function listTemporary(effects: readonly Effect[]): string[] {
  const files = { show: (path: string) => `/tmp${path}` };
  return effects.map((effect) => summarise(effect, { renamed: new Map(), secrets: new Set(), files }));
}

function someOf(names: readonly string[]): string[] {
  return names.length > 5 ? [...names.slice(0, 5), `${names.length - 5} more`] : [...names];
}

/** What exists already, then what can run (git may run what is in `.git`), then links, then new files, then folders. */
function dangerOf({ path, before, after }: Effect, renamed: ReadonlyMap<string, string>): number {
  if (before.kind !== "absent" && before.kind !== "directory") return 0;
  if (renamed.has(path)) return 0;
  if (belowGit(path) !== undefined) return 1;
  if (after.kind === "file" && ((after.mode ?? 0) & SET_ID) !== 0) return 1;
  if (after.kind === "file" && ((after.mode ?? 0) & 0o111) !== 0) return 2;
  if (after.kind === "symlink") return 3;
  return after.kind === "directory" || before.kind === "directory" ? 5 : 4;
}

function isFileChange({ before, after }: Effect): boolean {
  return before.kind !== "directory" && after.kind !== "directory";
}

/** New paths, with the deleted file whose content they have. */
function renamesAmong(effects: readonly Effect[]): Map<string, string> {
  const deleted = new Map<string, string>();
  for (const { path, before, after } of effects)
    if (after.kind === "absent" && before.kind === "file" && before.size > 0) deleted.set(before.hash ?? "", path);
  const renamed = new Map<string, string>();
  for (const { path, before, after } of effects) {
    const from = before.kind === "absent" && after.kind === "file" ? deleted.get(after.hash ?? "-") : undefined;
    if (from === undefined) continue;
    renamed.set(path, from);
    deleted.delete(after.kind === "file" ? (after.hash ?? "") : "");
  }
  return renamed;
}

function summarise(
  effect: Effect,
  {
    renamed,
    secrets,
    files,
  }: { renamed: ReadonlyMap<string, string>; secrets: ReadonlySet<string>; files: Pick<Files, "show"> },
): string {
  const { path, before, after } = effect;
  const name = showName(files.show(path));
  const from = renamed.get(path);
  const secret = secrets.has(path) ? " (a secret: its content is not shown)" : "";
  const mode = describeMode(before, after);
  if (from !== undefined) return `R ${showName(files.show(from))} -> ${name}${secret}`;
  if (after.kind === "absent") return `D ${name}${before.kind === "directory" ? "/" : ""}${secret}`;
  if (after.kind === "symlink") return `${before.kind === "absent" ? "A" : "M"} ${name} -> ${showName(after.target)}`;
  const folder = after.kind === "directory" ? "/" : "";
  if (before.kind === "absent") return `A ${name}${folder}${mode}${secret}`;
  if (!isContentChange(effect)) return `M ${name}${folder}${mode || " (only its time)"}`;
  return `M ${name}${folder}${mode}${secret}`;
}

function describeMode(before: EntryState, after: EntryState): string {
  const [old, now] = [before, after].map((state) =>
    state.kind === "file" || state.kind === "directory" ? state.mode : undefined,
  );
  if (now === undefined || old === now) return "";
  const notes = after.kind === "file" && (now & 0o111) !== 0 && old === undefined ? ["executable"] : [];
  if (after.kind === "file" && (now & 0o4000) !== 0) notes.push("SETUID: runs with the rights of its owner");
  if (after.kind === "file" && (now & 0o2000) !== 0) notes.push("SETGID: runs with the rights of its group");
  if (old !== undefined) notes.unshift(`mode ${old.toString(8)} to ${now.toString(8)}`);
  return notes.length === 0 ? "" : ` (${notes.join("; ")})`;
}

const SET_ID = 0o6000;

function isContentChange({ before, after }: Effect): boolean {
  const hash = (state: EntryState): string | undefined => (state.kind === "file" ? state.hash : undefined);
  return hash(before) !== hash(after);
}

/** The path inside a `.git` folder, or inside that of a submodule or worktree. Undefined for other paths. */
function belowGit(path: string): string | undefined {
  const found = /^.*?\/\.git(?:\/(.*))?$/s.exec(path);
  return found ? (found[1] ?? "").replace(/^(?:modules|worktrees)\/[^/]+\//, "") : undefined;
}

/** Objects, logs and the like: their content follows from what else is shown. Git does not run a `.sample`. */
const OF_GIT =
  /^(?:objects\/(?:[\da-f]{2}(?:\/[\da-f]{38,62})?|pack(?:\/.*)?|info(?:\/(?:packs|commit-graph))?)|logs(?:\/.*)?|index|[A-Z_]+_HEAD|COMMIT_EDITMSG)$/;
const SAMPLE = /^hooks\/[\w-]+\.sample$/;

function isOfGit({ path, before, after }: Effect): boolean {
  const below = belowGit(path);
  if (below === undefined) return false;
  if (before.kind === "absent" && after.kind === "directory") return below !== "";
  const isSample = SAMPLE.test(below);
  if (!isSample && !OF_GIT.test(below)) return false;
  const unusual = isSample ? SET_ID : SET_ID | 0o111;
  return [before, after].every(
    (state) =>
      state.kind === "absent" ||
      state.kind === "directory" ||
      (state.kind === "file" && ((state.mode ?? 0) & unusual) === 0),
  );
}

function countOfGit(ofGit: readonly Effect[]): string[] {
  const changed = ofGit.filter(isFileChange);
  const deleted = changed.filter(({ after }) => after.kind === "absent").length;
  if (changed.length === 0) return [];
  const note = deleted > 0 ? ` (${deleted} deleted)` : "";
  return [`and ${changed.length} ${changed.length === 1 ? "file" : "files"} in .git${note}`];
}

const REF_NAME = /^(?:HEAD|refs\/.+)$/s;
const REF = /^(?:([\da-f]{12})[\da-f]{28}(?:[\da-f]{24})?|(ref: refs\/[\w./-]{1,200}))\n?$/;

/** Where branches, tags and HEAD point before and after, by path. What is no reference is shown as any file. */
async function refsAmong(
  effects: readonly Effect[],
  contents: ReadonlyMap<string, Buffer>,
  files: Files,
): Promise<Map<string, string>> {
  const refs = new Map<string, string>();
  for (const effect of effects) {
    const { path, before, after } = effect;
    const isFile = [before, after].every(({ kind }) => kind === "file" || kind === "absent");
    if (!isFile || !isContentChange(effect) || !REF_NAME.test(belowGit(path) ?? "")) continue;
    const [old, now] = (await Promise.all([oldText(effect, files), newText(effect, contents)])).map(targetOfRef);
    if (old === undefined || now === undefined) continue;
    refs.set(
      path,
      after.kind === "absent" ? ` (was ${old})` : before.kind === "absent" ? ` ${now}` : ` ${old} → ${now}`,
    );
  }
  return refs;
}

/** The short hash, or the name of another reference; undefined if it is neither. */
function targetOfRef(content: string | null): string | undefined {
  if (content === "") return "nothing";
  const [, hash, name] = REF.exec(content ?? "-") ?? [];
  return hash ?? name;
}

async function oldText({ path, before }: Effect, files: Files): Promise<string | null> {
  if (before.kind !== "file") return "";
  const { state } = await files.entry(path);
  return state.kind === "file" && state.hash === before.hash ? toText(state.bytes) : null;
}

async function newText({ path, after }: Effect, contents: ReadonlyMap<string, Buffer>): Promise<string | null> {
  return after.kind === "file" ? toText(contents.get(path)) : "";
}

/** Null if it is not text. */
function toText(bytes: Buffer | undefined): string | null {
  return bytes && !isBinary(bytes) && isUtf8(bytes) ? bytes.toString("utf8") : null;
}

export function countFiles(effects: readonly Effect[]): string {
  const count = effects.filter(isFileChange).length;
  if (effects.length === 0) return "nothing: it changed no file";
  return count === 0 ? `${effects.length} changed folders` : `${count} changed ${count === 1 ? "file" : "files"}`;
}

export function countChanges(count: number): string {
  return count === 1 ? "its change was" : count === 0 ? "there was nothing to be" : `its ${count} changes were`;
}

const MAX_NAMED = 5;

export function describeGuarded({ guarded }: Pick<ViewEffects, "guarded">, files: Files): string {
  const outermost = guarded.filter((path) => !guarded.some((other) => other !== path && isInside(path, other)));
  const named = outermost.slice(0, MAX_NAMED).map((path) => showName(files.show(path)));
  const more = outermost.length > MAX_NAMED ? ` and ${outermost.length - MAX_NAMED} more` : "";
  return `it changed protected files, which stay unchanged: ${named.join(", ")}${more}`;
}
