import { toolError, ToolError } from "../../core/error.ts";
import type { FileInfo } from "../../files/file-info.ts";
import type { Files } from "../../files/files.ts";
import { decodeText, encodeText } from "../../files/text-encoding.ts";
import { applyHunks } from "./apply-hunks.ts";
import { badPatch } from "./bad-patch.ts";
import { refuseElisions } from "./find-elision.ts";
import type { FileChange } from "./parse-patch.ts";
import { failWithSuggestion } from "./suggest-path.ts";

/** What a patch does to one file, worked out before anything is touched. */
export interface PatchStep {
  type: FileChange["type"];
  path: string;
  moveTo?: string;
  before: string;
  after: string;
  bytes: Buffer;
  /** Of what is replaced or deleted; absent for a new file. */
  old?: { bytes: Buffer; info: FileInfo };
}

/** Reads and changes every file in memory. Whatever does not fit is said here, with nothing changed. */
export async function planPatch(changes: readonly FileChange[], files: Files): Promise<PatchStep[]> {
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
    return { type, path, before: "", after: change.text, bytes: Buffer.from(change.text) };
  }
  const moveTo = type === "update" ? change.moveTo : undefined;
  if (type === "delete" || moveTo !== undefined) await refuseLink(files, path);
  const old = await files.readWhole(path).catch((error: unknown) => failWithSuggestion(error, files, path));
  const decoded = decodeText(old.bytes);
  if (type === "delete") return { type, path, before: decoded.text, after: "", bytes: Buffer.alloc(0), old };
  if (moveTo !== undefined) await requireAbsent(files, moveTo);
  const after = change.hunks.length > 0 ? applyHunks(decoded.text, change.hunks).text : decoded.text;
  const bytes = after === decoded.text ? old.bytes : encodeText(after, decoded);
  return { type, path, ...(moveTo === undefined ? {} : { moveTo }), before: decoded.text, after, bytes, old };
}

async function requireAbsent(files: Files, path: string): Promise<void> {
  try {
    await files.info(path);
  } catch (error) {
    if (error instanceof ToolError && error.code === "path_not_found") return;
    throw error;
  }
  throw toolError("path_exists", `${path} exists already`, {
    next: "Use *** Update File to change it, or another path.",
  });
}

/** What removing a link takes away cannot be put back from what it leads to. */
async function refuseLink(files: Files, path: string): Promise<void> {
  const info = await files.info(path).catch((error: unknown) => failWithSuggestion(error, files, path));
  if (info.linkTarget === undefined) return;
  throw toolError("not_regular_file", `${path} is a symbolic link, which a patch neither deletes nor moves`, {
    next: "Use delete_file or move_file for the link, or name the file it leads to.",
  });
}

function changedTwice(path: string, patchLine: number): Error {
  return badPatch(
    "duplicate_path",
    `${path} is a file that the patch changes already, under another name`,
    "Bring all changes of one file into one section.",
    patchLine,
  );
}
