import { dirname, isAbsolute, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import { attempt, failureText, toFailure, ToolError, toolError } from "../../core/error.ts";
import type { Files } from "../../io/files/files.ts";
import type { FileInfo } from "../../io/files/open-file.ts";
import { decodeText, encodeText, isBinary } from "../../io/files/text-encoding.ts";
import { refuseElisions } from "./elided-text.ts";
import {
  CHANGE_FIELDS,
  describeChange,
  failWithSuggestion,
  filesOf,
  type FileToolDependencies,
  pathLock,
  previewChanges,
} from "./file-access.ts";
import { explainAmbiguity, explainMiss } from "./match-failure.ts";
import { badPatch, type FileChange, type Hunk, type HunkLine, parsePatch, refuseDuplicates } from "./parse-patch.ts";
import { parseUnifiedDiff } from "./parse-unified-diff.ts";
import { reportDiagnostics } from "./report-diagnostics.ts";
import { joinAdjacent, type LineChange, replaceLines, type Splice, spliceText } from "./replace-lines.ts";
import {
  commonLineEnd,
  createLineFinder,
  findReindent,
  foldLookAlikes,
  FOLDS,
  type Line,
  type LineFinder,
  type MatchStep,
  MAX_AMBIGUOUS_MATCHES,
  splitLines,
} from "./text-match.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export function createApplyPatchTool({
  files,
  reads,
  diagnostics,
}: Pick<FileToolDependencies, "files" | "reads" | "diagnostics">) {
  return createTool({
    name: "apply_patch",
    title: "Apply patch",
    description: {
      short: "Changes several files with a patch: adds, updates, moves and deletes, all or nothing.",
      long: [
        "The patch has this form:",
        "*** Begin Patch",
        "*** Update File: path",
        "@@ a line above the change, to locate it",
        " an unchanged line",
        "-a removed line",
        "+an added line",
        "*** Add File: path",
        "+every line of the new file",
        "*** Delete File: path",
        "*** End Patch",
        "An Update may be followed by *** Move to: path. Paths are relative to the workspace.",
        "A unified diff, as git diff prints it, is accepted, too.",
      ].join("\n"),
      examples: [{ input: { patch: "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch" } }],
    },
    kind: "write",
    category: "file",
    tags: ["file"],
    builtIn: {
      zh: { title: "应用补丁", short: "用补丁修改多个文件：新增、更新、移动和删除，要么全部完成，要么全不做。" },
      isCore: true,
      sameAs: { opencode: ["edit", "write", "patch"], gemini: ["write_file", "replace"] },
    },
    output: describeOutput({
      files: field.list(
        field.object({
          path: field.text(),
          "from?": field.text("If the file was moved"),
          change: field.text("add, update or delete"),
          added: field.integer("Lines"),
          removed: field.integer("Lines"),
        }),
      ),
      diff: CHANGE_FIELDS.diff,
      "diffOmitted?": CHANGE_FIELDS["diffOmitted?"],
      "diagnostics?": CHANGE_FIELDS["diagnostics?"],
    }),
    permission: "confirm",
    aliases: ["patch"],
    dialects: { codex: { name: "apply_patch", parameters: { patch: "input" } } },
    parameters: z.object({
      patch: z.string().describe("The patch, from *** Begin Patch to *** End Patch"),
      working_directory: z.string().min(1).optional().describe("The folder of relative paths. Default: the workspace"),
    }),
    parameterAliases: { input: "patch", diff: "patch", patchText: "patch", workdir: "working_directory" },
    signature: ({ patch, working_directory: folder }) => {
      const changes = pathsOf(patch, folder);
      return {
        text: changes.join(", "),
        changes,
        effects: { delete: deletionsOf(patch) },
      };
    },
    locks: ({ patch, working_directory: folder }) => pathsOf(patch, folder).map((path) => pathLock(files, path)),
    preview: async ({ patch, working_directory: folder }, context) => {
      const allowed = filesOf({ files }, context);
      await requireFolder(allowed, folder);
      const steps = await planPatch(readPatch(patch, folder), allowed);
      const plan = steps.toSorted((one, other) => DANGER.indexOf(one.type) - DANGER.indexOf(other.type));
      for (const { type, path, moveTo } of plan) {
        if (type === "delete" || moveTo !== undefined) await allowed.checkDelete(path);
        if (type !== "delete") await allowed.checkWrite(moveTo ?? path);
      }
      const changes = await describeSteps(plan);
      const binary = plan.filter(({ old }) => old && isBinary(old.bytes)).map(({ path }) => path);
      // A change without a diff: an empty file, or only another name.
      const summary = plan.filter((_, at) => changes[at]?.diff === "").map(summarise);
      return previewChanges(`Change ${countFiles(plan)}`, changes, { summary, binary });
    },
    run: async ({ patch, working_directory: folder }, context) => {
      const allowed = filesOf({ files }, context, "apply_patch");
      await requireFolder(allowed, folder);
      const plan = await planPatch(readPatch(patch, folder), allowed);
      const written = await allowed.together((whole) => commitPatch(plan, whole));
      for (const { info, bytes, isNew } of written) {
        reads.saw(context, info, { bytes, seen: isNew ? "whole" : "as before" });
      }
      const changes = await describeSteps(plan);
      const changed = written.map(({ info, bytes, before }) => ({ file: info.real, before, after: bytes }));
      const found = await reportDiagnostics(diagnostics, changed, { context, show: allowed.show.bind(allowed) });
      const summary = plan.map(summarise);
      return {
        content: `Applied the patch:\n${summary.join("\n")}${found.text}`,
        display: `Changed ${countFiles(plan)}: ${summary.join(", ")}`,
        details: {
          files: plan.map(({ type, path, moveTo }, i) => ({
            path: moveTo ?? path,
            from: moveTo === undefined ? undefined : path,
            change: type,
            added: changes[i]?.added ?? 0,
            removed: changes[i]?.removed ?? 0,
          })),
          diff: changes.map(({ diff }) => diff).join("\n"),
          diffOmitted: changes.flatMap(({ omitted }) => omitted ?? []).join("; ") || undefined,
          diagnostics: found.problems,
        },
      };
    },
  });
}

const MARKS = { add: "A", update: "M", delete: "D" } as const;

function summarise({ type, path, moveTo }: PatchStep): string {
  return `${MARKS[type]} ${moveTo === undefined ? path : `${moveTo} (was ${path})`}`;
}

function countFiles(plan: readonly PatchStep[]): string {
  return `${plan.length} ${plan.length === 1 ? "file" : "files"}`;
}

function describeSteps(plan: readonly PatchStep[]) {
  return Promise.all(plan.map((step) => describeChange(step.path, { ...step, newPath: step.moveTo })));
}

/** As a shell does that changes to it first. */
async function requireFolder(files: Files, folder: string | undefined): Promise<void> {
  if (folder === undefined) return;
  const info = await files.info(folder).catch((error: unknown) => failWithSuggestion(error, files, folder));
  if (info.type === "directory") return;
  throw toolError("not_directory", `${folder} is not a folder`, { next: "Correct working_directory." });
}

/** Each is looked up on the disk before the patch is applied. */
const MAX_FILES = 1000;
/** A patch is read and matched on the thread that serves everybody. */
const MAX_HUNKS = 2000;

/** The last patch, which the signature, locks, the preview and the run of a call read one after another. */
let parsed: { patch: string; changes?: readonly FileChange[]; error?: unknown } | undefined;

function parseOnce(patch: string): readonly FileChange[] {
  if (parsed?.patch !== patch) {
    try {
      refuseManyHunks(patch);
      parsed = { patch, changes: parseUnifiedDiff(patch) ?? parsePatch(patch) };
    } catch (error) {
      parsed = { patch, error };
    }
  }
  if (parsed.changes === undefined) throw parsed.error;
  return parsed.changes;
}

function refuseManyHunks(patch: string): void {
  const count = patch.match(/^@@/gm)?.length ?? 0;
  if (count <= MAX_HUNKS) return;
  throw toolError("too_large", `The patch has ${count} hunks; the limit is ${MAX_HUNKS}`, {
    next: "Send several patches.",
  });
}

/** The changes of a patch or of a unified diff. Relative paths are below `folder`. */
function readPatch(patch: string, folder?: string): FileChange[] {
  const changes = parseOnce(patch);
  if (changes.length > MAX_FILES) {
    throw toolError("too_large", `The patch changes ${changes.length} files; the limit is ${MAX_FILES}`, {
      next: "Send several patches.",
    });
  }
  const place = (path: string): string => (folder === undefined || isAbsolute(path) ? path : join(folder, path));
  const placed = changes.map((change) => {
    if (change.type !== "update" || change.moveTo === undefined) return { ...change, path: place(change.path) };
    return { ...change, path: place(change.path), moveTo: place(change.moveTo) };
  });
  refuseDuplicates(placed);
  return placed;
}

/** For locks and rules only: a patch that cannot be parsed changes nothing. */
function pathsOf(patch: string, folder?: string): string[] {
  try {
    return readPatch(patch, folder).flatMap((change) =>
      change.type === "update" && change.moveTo !== undefined ? [change.path, change.moveTo] : [change.path],
    );
  } catch {
    return [];
  }
}

function deletionsOf(patch: string): number {
  return attempt(() => readPatch(patch).filter(({ type }) => type === "delete").length, 0);
}

/** The order in which a person sees the changes: what exists is lost or changed first. */
const DANGER: readonly FileChange["type"][] = ["delete", "update", "add"];

/** What a patch does to one file, computed before anything is changed. */
interface PatchStep {
  type: FileChange["type"];
  path: string;
  moveTo?: string;
  before: string;
  after: string;
  bytes: Buffer;
  /** Of a new file. Default: that of new files. */
  mode?: number;
  /** What is replaced or deleted; undefined for a new file. */
  old?: { bytes: Buffer; info: FileInfo };
}

/** Applies the patch in memory. It throws here, before anything is written, if something does not match. */
async function planPatch(changes: readonly FileChange[], files: Files): Promise<PatchStep[]> {
  const plan: PatchStep[] = [];
  const taken = new Set<string>();
  for (const change of changes) {
    const step = await planChange(change, files);
    for (const path of step.moveTo === undefined ? [step.path] : [step.path, step.moveTo]) {
      const real = files.realPath(path, "write");
      if (taken.has(real)) throw changedTwice(path, change.patchLine);
      taken.add(real);
    }
    plan.push(step);
  }
  if (plan.every(({ type, before, after, moveTo }) => type === "update" && before === after && moveTo === undefined)) {
    throw toolError("no_change", "The patch changes nothing", { next: "Check that its + and - lines differ." });
  }
  return plan;
}

async function planChange(change: FileChange, files: Files): Promise<PatchStep> {
  const { type, path } = change;
  if (type === "add") {
    await requireAbsent(files, path);
    refuseElisions(change.text, "", `the added file ${path}`);
    const mode = change.isExecutable ? 0o755 : undefined;
    return { type, path, before: "", after: change.text, bytes: Buffer.from(change.text), mode };
  }
  const moveTo = type === "update" ? change.moveTo : undefined;
  if (type === "delete" || moveTo !== undefined) await refuseLink(files, path);
  const old = await files.readWhole(path).catch((error: unknown) => failWithSuggestion(error, files, path));
  const decoded = decodeText(old.bytes);
  if (type === "delete") {
    refuseOtherContent(change, decoded.text);
    return { type, path, before: decoded.text, after: "", bytes: Buffer.alloc(0), old };
  }
  if (moveTo !== undefined) await requireAbsent(files, moveTo);
  const { hunks, finalLineEnd } = change;
  const after = hunks.length > 0 ? await applyTo(decoded.text, hunks, { path, finalLineEnd }) : decoded.text;
  const bytes = after === decoded.text ? old.bytes : encodeText(after, decoded);
  return { type, path, moveTo, before: decoded.text, after, bytes, old };
}

/** As `applyHunks`, with or without a final line end. An unfinished last line gets one first: it is a line like others. */
export async function applyTo(
  text: string,
  hunks: readonly Hunk[],
  { path, finalLineEnd }: { path?: string; finalLineEnd?: boolean },
): Promise<string> {
  if (finalLineEnd === undefined) return (await applyHunks(text, hunks, path)).text;
  const lines = splitLines(text);
  const isEnded = lines.length === 0 || lines.at(-1)?.eol !== "";
  const applied = (await applyHunks(isEnded ? text : text + commonLineEnd(lines), hunks, path)).text;
  const end = splitLines(applied).at(-1)?.eol ?? "";
  return finalLineEnd ? applied : applied.slice(0, applied.length - end.length);
}

/** A diff that deletes a file says what is in it. */
function refuseOtherContent({ path, removed }: Extract<FileChange, { type: "delete" }>, text: string): void {
  const lines = splitLines(text).map((line) => line.text);
  if (removed === undefined || (lines.length === removed.length && lines.every((line, at) => line === removed[at])))
    return;
  throw toolError("no_match", `${path} has other content than the patch deletes`, {
    next: "Nothing was changed. Read the file; to delete it in any case use *** Delete File or delete_file.",
  });
}

async function requireAbsent(files: Files, path: string): Promise<void> {
  try {
    await files.info(path);
  } catch (error) {
    if (error instanceof ToolError && error.code === "path_not_found") return;
    throw error;
  }
  throw toolError("path_exists", `${path} already exists`, {
    next: "Use *** Update File to change it, or another path.",
  });
}

/** A removed link could not be restored from the content of its target. */
async function refuseLink(files: Files, path: string): Promise<void> {
  const info = await files.info(path).catch((error: unknown) => failWithSuggestion(error, files, path));
  if (info.linkTarget === undefined) return;
  throw toolError("not_regular_file", `${path} is a symbolic link, which a patch cannot delete or move`, {
    next: "Use delete_file or move_file for the link, or give the path of its target.",
  });
}

function changedTwice(path: string, patchLine: number): Error {
  return badPatch(
    "duplicate_path",
    `${path} is a file that the patch already changes under another name`,
    "Put all changes of one file into one section.",
    patchLine,
  );
}

interface WrittenFile {
  info: FileInfo;
  bytes: Buffer;
  isNew: boolean;
  /** Undefined if it is new. */
  before?: Buffer;
}

interface UndoStep {
  path: string;
  run(): Promise<unknown>;
}

/** Executes a plan. If a step fails, the previous steps are rolled back, and the error says whether that worked. */
async function commitPatch(plan: readonly PatchStep[], files: Files): Promise<WrittenFile[]> {
  const undo: UndoStep[] = [];
  const written: WrittenFile[] = [];
  try {
    for (const step of plan) {
      const info = await commitStep(step, files, undo);
      if (info) written.push({ info, bytes: step.bytes, isNew: step.type === "add", before: step.old?.bytes });
    }
    return written;
  } catch (error) {
    throw failedPartway(error, await rollBack(undo));
  }
}

async function commitStep(step: PatchStep, files: Files, undo: UndoStep[]): Promise<FileInfo | undefined> {
  const { path, moveTo, bytes, old } = step;
  if (!old) return create(path, bytes, { files, undo, mode: step.mode });
  if (step.type === "delete") return remove(path, old, { files, undo });
  if (moveTo !== undefined) {
    const info = await create(moveTo, bytes, { files, undo, mode: old.info.mode });
    await remove(path, old, { files, undo });
    return info;
  }
  if (step.before === step.after) return old.info;
  const { info } = await files.writeFileAtomic(path, bytes, { ifStamp: old.info.stamp });
  undo.push({ path, run: () => files.writeFileAtomic(path, old.bytes, { ifStamp: info.stamp }) });
  return info;
}

interface Committing {
  files: Files;
  undo: UndoStep[];
  mode?: number;
}

async function create(path: string, bytes: Buffer, { files, undo, mode }: Committing): Promise<FileInfo> {
  // Folders separately, so a rollback of the file also removes the folders created for it.
  for (const folder of await files.makeDirectories(dirname(path))) {
    undo.push({ path: folder, run: () => files.deleteDirectory(folder) });
  }
  const { info } = await files.writeFileAtomic(path, bytes, { ifAbsent: true, mode });
  undo.push({ path, run: () => files.deleteFile(path) });
  return info;
}

async function remove(
  path: string,
  old: NonNullable<PatchStep["old"]>,
  { files, undo }: Committing,
): Promise<undefined> {
  const { stamp } = await files.info(path);
  if (stamp !== old.info.stamp) {
    throw toolError("stale", `${path} was changed by someone else in the meantime`, {
      next: "Read it again, then repeat.",
    });
  }
  await files.deleteFile(path);
  undo.push({ path, run: () => files.writeFileAtomic(path, old.bytes, { ifAbsent: true, mode: old.info.mode }) });
}

/** Undoes the last step first. Returns the paths at which that failed. */
async function rollBack(undo: readonly UndoStep[]): Promise<string[]> {
  const left: string[] = [];
  for (const { path, run } of undo.toReversed()) await run().catch(() => left.push(path));
  return left;
}

function failedPartway(error: unknown, left: readonly string[]): ToolError {
  const { code, message, next, data } = toFailure(error);
  if (left.length === 0) {
    return toolError(code, failureText({ message, next: "Nothing of the patch was applied." }), {
      next,
      data,
      cause: error,
    });
  }
  return toolError(
    "io_error",
    `The patch failed halfway (${message}) and could not be rolled back in: ${left.join(", ")}`,
    {
      next: "Check these files before you continue.",
      data: { paths: left },
      cause: error,
    },
  );
}

export interface Patched {
  text: string;
  /** In ascending order; empty if the hunks change nothing. */
  splices: Splice[];
  /** For each hunk its line number in the original text, from 1, and the match step that found it. */
  hunks: { line: number; step: MatchStep }[];
}

/** Applies the hunks of one file, all or none. Unchanged lines, byte order mark and final line end keep their bytes. */
export function applyHunks(text: string, hunks: readonly Hunk[], path?: string): Promise<Patched> {
  return inSlices(applySteps(text, hunks, path));
}

function* applySteps(text: string, hunks: readonly Hunk[], path?: string): Generator<void, Patched> {
  for (const hunk of hunks) {
    refuseElidedHunk(hunk);
    yield;
  }
  const lines = splitLines(text);
  const located = yield* locateHunks(lines, hunks);
  yield;
  if (!("found" in located)) throw failure({ text, hunks, path }, located);
  const inOrder = located.found.toSorted((one, other) => one.first - other.first);
  const changes = joinAdjacent(inOrder.flatMap((hunk) => hunkChanges(lines, hunk)));
  const eol = commonLineEnd(lines);
  const splices = replaceLines(text, lines, changes, () => eol);
  return {
    text: spliceText(text, splices),
    splices,
    hunks: located.found.map(({ first, step }) => ({ line: first + 1, step })),
  };
}

function refuseElidedHunk(hunk: Hunk): void {
  const added = hunk.lines.filter((line) => line.kind === "add").map((line) => line.text);
  const name = `the added lines of the hunk at patch line ${hunk.patchLine}`;
  refuseElisions(added.join("\n"), oldLinesOf(hunk.lines).join("\n"), name);
}

function hunkChanges(lines: readonly Line[], hunk: LocatedHunk): LineChange[] {
  const changes: LineChange[] = [];
  const written = writtenLines(lines, hunk);
  let at = hunk.first;
  let newAt = 0;
  for (const { kind } of hunk.lines) {
    if (kind === "add") changes.push({ first: at, count: 0, added: written.slice(newAt, newAt + 1) });
    if (kind === "remove") changes.push({ first: at, count: 1, added: [] });
    if (kind !== "add") at++;
    if (kind !== "remove") newAt++;
  }
  return changes;
}

/** The kept and added lines as written to the file. If all old lines are shifted by the same indent, so are the new ones. */
function writtenLines(lines: readonly Line[], { first, step, lines: used }: LocatedHunk): string[] {
  const written = used.filter((line) => line.kind !== "remove").map((line) => line.text);
  if (step !== "indentation") return written;
  const old = oldLinesOf(used);
  const reindent = findReindent(
    old,
    lines.slice(first, first + old.length).map((line) => line.text),
  );
  return reindent?.(written, { index: 0, indent: "" }) ?? written;
}

function failure(
  { text, hunks, path }: { text: string; hunks: readonly Hunk[]; path?: string },
  located: Exclude<LocatedHunks, { found: unknown }>,
): ToolError {
  const nameOf = (index: number): string =>
    `Hunk ${index + 1} (patch line ${hunks[index]?.patchLine ?? 0})${path === undefined ? "" : ` of ${path}`}`;
  if ("ambiguous" in located) {
    const { hunk, firsts, step } = located.ambiguous;
    const numbers = firsts.map((first) => first + 1);
    return toolError("ambiguous", `${nameOf(hunk)} matches several positions in the file`, {
      next: `${explainAmbiguity(numbers, step)} Add kept lines around the change, or name the enclosing line after "@@".`,
      data: { hunk, lines: numbers },
    });
  }
  const { hunk, context, above } = located.missing;
  const data = { hunk, patchLine: hunks[hunk]?.patchLine };
  if (context !== undefined) {
    const next = explainMiss(text, context, 'the line after "@@"');
    return toolError("no_match", `${nameOf(hunk)}: the line after "@@" was not found below the previous hunk`, {
      next,
      data,
    });
  }
  if (above !== undefined) {
    const next =
      "Nothing was changed. Put the hunks of a file in the order of its lines, and change each line only once.";
    return toolError("no_match", `${nameOf(hunk)} matches at line ${above + 1}, which is not below the previous hunk`, {
      next,
      data,
    });
  }
  const next = explainMiss(text, oldLinesOf(hunks[hunk]?.lines ?? []).join("\n"), "the hunk");
  return toolError("no_match", `${nameOf(hunk)} does not match the file`, { next, data });
}

interface LocatedHunk {
  /** Index of the line at which the hunk's lines begin. */
  first: number;
  step: MatchStep;
  /** The lines of the hunk that were used. */
  lines: readonly HunkLine[];
}

type LocatedHunks =
  | { found: LocatedHunk[] }
  | { missing: { hunk: number; context?: string; above?: number } }
  | { ambiguous: { hunk: number; firsts: number[]; step: MatchStep } };

/** The match steps in order. Whitespace inside lines is always significant. */
const STEPS = ["exact", "trailing_blanks", "look_alikes", "indentation"] as const;

interface Candidates {
  firsts: number[];
  step: MatchStep;
  lines: readonly HunkLine[];
}

/** Of all hunks together. Thousands of hunks that match nearly everywhere would take minutes and gigabytes. */
const MAX_CANDIDATES = 1_000_000;

/** Locates hunks in file order. Unambiguous only if the first matches from the top and bottom agree. */
function* locateHunks(lines: readonly Line[], hunks: readonly Hunk[]): Generator<void, LocatedHunks> {
  const found: LocatedHunk[] = [];
  const all: Candidates[] = [];
  const finder = createLineFinder(lines);
  let cursor = 0;
  let kept = 0;
  for (const [index, hunk] of hunks.entries()) {
    yield;
    const anchors = findAnchors(lines, hunk.context, cursor);
    if (typeof anchors === "string") return { missing: { hunk: index, context: anchors } };
    const candidates = yield* findCandidates(lines, hunk, { finder, anchors, cursor });
    const first = candidates?.firsts[0];
    if (candidates === undefined || first === undefined) {
      const above = (yield* findCandidates(lines, hunk, { finder, anchors: [], cursor: 0 }))?.firsts[0];
      return { missing: { hunk: index, above: above !== undefined && above < cursor ? above : undefined } };
    }
    kept += candidates.firsts.length;
    if (kept > MAX_CANDIDATES)
      return {
        ambiguous: { hunk: index, firsts: candidates.firsts.slice(0, MAX_AMBIGUOUS_MATCHES), step: candidates.step },
      };
    all.push(candidates);
    found.push({ first, step: candidates.step, lines: candidates.lines });
    // Appended lines say nothing about the position of the next hunk.
    if (!isAppended(lines, candidates)) cursor = first + oldLinesOf(candidates.lines).length;
  }
  let limit = lines.length;
  for (let index = hunks.length - 1; index >= 0; index--) {
    const candidates = all[index];
    const chosen = found[index]?.first;
    if (candidates === undefined || chosen === undefined || isAppended(lines, candidates)) continue;
    const length = oldLinesOf(candidates.lines).length;
    const last = candidates.firsts.findLast((first) => first + length <= limit);
    if (last !== chosen) return { ambiguous: { hunk: index, firsts: candidates.firsts, step: candidates.step } };
    limit = chosen;
  }
  return { found };
}

const SLICE_MS = 10;

/** Each hunk is some passes over the file: between them, others get their turn. */
async function inSlices<T>(work: Generator<void, T>): Promise<T> {
  for (let until = performance.now() + SLICE_MS; ;) {
    const { done, value } = work.next();
    if (done) return value;
    if (performance.now() < until) continue;
    await setImmediate();
    until = performance.now() + SLICE_MS;
  }
}

function oldLinesOf(lines: readonly HunkLine[]): string[] {
  return lines.filter((line) => line.kind !== "add").map((line) => line.text);
}

function isAppended(lines: readonly Line[], { firsts, lines: used }: Candidates): boolean {
  return firsts[0] === lines.length && oldLinesOf(used).length === 0;
}

function* findCandidates(
  lines: readonly Line[],
  hunk: Hunk,
  { finder, anchors, cursor }: { finder: LineFinder; anchors: readonly number[]; cursor: number },
): Generator<void, Candidates | undefined> {
  for (const used of variantsOf(hunk.lines)) {
    const old = oldLinesOf(used);
    if (old.length === 0) {
      const at = hunk.oldLine === undefined ? undefined : Math.min(hunk.oldLine, lines.length);
      if (at !== undefined) return at < cursor ? undefined : { firsts: [at], step: "exact", lines: used };
      const firsts = anchors.length > 0 ? anchors.map((anchor) => anchor + 1) : [lines.length];
      return { firsts, step: "exact", lines: used };
    }
    yield;
    const loose = finder.findLoosely(old).filter((first) => first >= cursor);
    const runsOf = (step: keyof typeof FOLDS): number[] => finder.narrow(loose, old, FOLDS[step]);
    const end = lines.length - old.length;
    const atEnd = hunk.endOfFile ? STEPS.find((step) => runsOf(step).includes(end)) : undefined;
    if (atEnd) return { firsts: [end], step: atEnd, lines: used };
    for (const step of STEPS) {
      yield;
      const firsts = runsOf(step);
      const below = anchors.length > 0 ? firstBelowEach(firsts, anchors) : firsts;
      // Of several places a diff means the one that it numbers.
      const numbered = below.filter((first) => first + 1 === hunk.oldLine);
      if (below.length > 0) return { firsts: numbered.length > 0 ? numbered : below, step, lines: used };
    }
  }
  return undefined;
}

/** A hunk as given, then without the empty lines at its edges, which may be mere spacing. */
function variantsOf(lines: readonly HunkLine[]): (readonly HunkLine[])[] {
  const from = lines.findIndex((line) => !line.bare);
  const to = lines.findLastIndex((line) => !line.bare) + 1;
  if (to === 0) return [lines];
  const tailCut = lines.slice(0, to);
  const cut = lines.slice(from, to);
  const onlyAdds = cut.every((line) => line.kind === "add");
  if (onlyAdds) return [cut];
  return [lines, ...(to < lines.length ? [tailCut] : []), ...(from > 0 ? [cut] : [])];
}

/** Indices of the innermost context line, one for each match of the outermost; a string is the missing context. */
function findAnchors(lines: readonly Line[], context: readonly string[], cursor: number): number[] | string {
  let anchors: number[] = [];
  for (const [depth, line] of context.entries()) {
    const positions = findContext(lines, line, cursor);
    anchors =
      depth === 0
        ? positions
        : firstBelowEach(
            positions,
            anchors.map((anchor) => anchor + 1),
          );
    if (anchors.length === 0) return line;
  }
  return anchors;
}

function findContext(lines: readonly Line[], wanted: string, cursor: number): number[] {
  const indices = (matches: (text: string) => boolean): number[] =>
    lines.flatMap((line, index) => (index >= cursor && matches(line.text) ? [index] : []));
  for (const step of STEPS) {
    const fold = FOLDS[step];
    const key = fold(wanted);
    const found = indices((text) => fold(text) === key);
    if (found.length > 0) return found;
  }
  // Context may be abbreviated: `class Foo` for `class Foo(Base):`.
  const start = foldLookAlikes(wanted).trim();
  return start.length < 3 ? [] : indices((text) => foldLookAlikes(text).trim().startsWith(start));
}

/** For each anchor the first index at or below it: a hunk may repeat its context line as its first line. */
function firstBelowEach(indices: readonly number[], anchors: readonly number[]): number[] {
  const below = new Set<number>();
  let at = 0;
  // Both ascend.
  for (const anchor of anchors) {
    while (at < indices.length && (indices[at] ?? 0) < anchor) at++;
    const index = indices[at];
    if (index !== undefined) below.add(index);
  }
  return [...below];
}
