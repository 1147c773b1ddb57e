import { isUtf8 } from "node:buffer";
import type { Files } from "../../io/files/files.ts";
import { isInside } from "../../io/files/path-policy.ts";
import { isBinary } from "../../io/files/text-encoding.ts";
import type { EntryState } from "../../io/files/undo-store.ts";
import { unifiedDiff } from "../../io/files/unified-diff.ts";
import type { Effect } from "../../io/sandbox/effects.ts";
import type { ViewEffects } from "../../io/sandbox/view.ts";
import { showHiddenCharacters } from "../../io/shell/terminal-text.ts";

const MAX_SHOWN_OUTPUT = 6000;

/** The beginning and the end of an output. */
export function clip(output: string): { text: string; omitted?: string } {
  if (output.length <= MAX_SHOWN_OUTPUT) return { text: output };
  const half = MAX_SHOWN_OUTPUT / 2;
  const cut = output.length - MAX_SHOWN_OUTPUT;
  const omitted = `${cut} characters of the output`;
  return { text: `${output.slice(0, half)}\n[… ${omitted} …]\n${output.slice(-half)}`, omitted };
}

const MAX_LISTED = 200;
const MAX_DIFF_BYTES = 12 * 1024;
const MAX_DIFFS_BYTES = 40 * 1024;

/** One line for each file, and the differences. Files in `.git` are only counted. */
export async function describeEffects(
  effects: readonly Effect[],
  { contents, secrets }: ViewEffects,
  files: Files,
): Promise<{ lines: string[]; diffs: string[]; omitted: string[] }> {
  const inGit = effects.filter(({ path }) => isInGit(path));
  const others = effects.filter(({ path }) => !isInGit(path));
  const renamed = renamesAmong(others);
  const sources = new Set(renamed.values());
  const listed = others.filter(({ path }) => !sources.has(path));
  const lines = listed.slice(0, MAX_LISTED).map((effect) => summarise(effect, { renamed, secrets, files }));
  const omitted: string[] = [];
  if (listed.length > MAX_LISTED) omitted.push(`the names of ${listed.length - MAX_LISTED} changed files`);
  if (inGit.length > 0) lines.push(`and ${inGit.length} ${inGit.length === 1 ? "file" : "files"} in .git`);
  const diffs: string[] = [];
  const unshown: string[] = [];
  let left = MAX_DIFFS_BYTES;
  for (const effect of listed) {
    if (renamed.has(effect.path) || !isContentChange(effect) || secrets.has(effect.path)) continue;
    const [before, after] = await Promise.all([oldText(effect, files), newText(effect, contents)]);
    const diff =
      before === null || after === null || left <= 0
        ? undefined
        : await unifiedDiff(
            { before, after },
            { path: files.show(effect.path), maxBytes: Math.min(left, MAX_DIFF_BYTES) },
          );
    if (diff === undefined) {
      unshown.push(files.show(effect.path));
      continue;
    }
    left -= diff.text.length;
    if (diff.text !== "") diffs.push(showHiddenCharacters(diff.text.trimEnd()));
    if (diff.omitted !== undefined) omitted.push(`${diff.omitted} of ${files.show(effect.path)}`);
  }
  if (unshown.length > 0) {
    const more = unshown.length > 5 ? ` and ${unshown.length - 5} more` : "";
    omitted.push(`the content of ${unshown.slice(0, 5).join(", ")}${more}`);
  }
  return { lines, diffs, omitted };
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
  { renamed, secrets, files }: { renamed: ReadonlyMap<string, string>; secrets: ReadonlySet<string>; files: Files },
): string {
  const { path, before, after } = effect;
  const name = showHiddenCharacters(files.show(path));
  const from = renamed.get(path);
  const secret = secrets.has(path) ? " (a secret: its content is not shown)" : "";
  const mode = describeMode(before, after);
  if (from !== undefined) return `R ${showHiddenCharacters(files.show(from))} -> ${name}${secret}`;
  if (after.kind === "absent") return `D ${name}${before.kind === "directory" ? "/" : ""}${secret}`;
  if (after.kind === "symlink")
    return `${before.kind === "absent" ? "A" : "M"} ${name} -> ${showHiddenCharacters(after.target)}`;
  const folder = after.kind === "directory" ? "/" : "";
  if (before.kind === "absent") return `A ${name}${folder}${mode}${secret}`;
  if (!isContentChange(effect)) return `M ${name}${folder}${mode || " (only its time)"}`;
  return `M ${name}${folder}${mode}${secret}`;
}

function describeMode(before: EntryState, after: EntryState): string {
  const [old, now] = [before, after].map((state) =>
    state.kind === "file" || state.kind === "directory" ? state.mode : undefined,
  );
  if (now === undefined) return "";
  if (old === undefined) return after.kind === "file" && (now & 0o111) !== 0 ? " (executable)" : "";
  return old === now ? "" : ` (mode ${old.toString(8)} to ${now.toString(8)})`;
}

function isContentChange({ before, after }: Effect): boolean {
  const hash = (state: EntryState): string | undefined => (state.kind === "file" ? state.hash : undefined);
  return hash(before) !== hash(after);
}

function isInGit(path: string): boolean {
  return path.split("/").includes(".git");
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
  const count = effects.filter(({ before, after }) => before.kind !== "directory" && after.kind !== "directory").length;
  if (effects.length === 0) return "nothing: it changed no file";
  return count === 0 ? `${effects.length} changed folders` : `${count} changed ${count === 1 ? "file" : "files"}`;
}

export function countChanges(count: number): string {
  return count === 1 ? "its change was" : count === 0 ? "there was nothing to be" : `its ${count} changes were`;
}

const MAX_NAMED = 5;

export function describeGuarded({ guarded }: Pick<ViewEffects, "guarded">, files: Files): string {
  const outermost = guarded.filter((path) => !guarded.some((other) => other !== path && isInside(path, other)));
  const named = outermost.slice(0, MAX_NAMED).map((path) => showHiddenCharacters(files.show(path)));
  const more = outermost.length > MAX_NAMED ? ` and ${outermost.length - MAX_NAMED} more` : "";
  return `it changed protected files, which stay unchanged: ${named.join(", ")}${more}`;
}
