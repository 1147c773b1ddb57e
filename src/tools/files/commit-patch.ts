import { dirname } from "node:path";
import { toFailure, type ToolError, toolError } from "../../core/error.ts";
import type { FileInfo } from "../../files/file-info.ts";
import type { Files } from "../../files/files.ts";
import type { PatchStep } from "./plan-patch.ts";

/** A file as a patch left it. */
export interface WrittenFile {
  info: FileInfo;
  bytes: Buffer;
}

interface Undo {
  path: string;
  run(): Promise<unknown>;
}

/** Carries out a plan. When a step fails, those before it are taken back, and the error says whether that worked. */
export async function commitPatch(plan: readonly PatchStep[], files: Files): Promise<WrittenFile[]> {
  const undo: Undo[] = [];
  const written: WrittenFile[] = [];
  try {
    for (const step of plan) {
      const info = await commitStep(step, files, undo);
      if (info) written.push({ info, bytes: step.bytes });
    }
    return written;
  } catch (error) {
    throw failedPartway(error, await rollBack(undo));
  }
}

async function commitStep(step: PatchStep, files: Files, undo: Undo[]): Promise<FileInfo | undefined> {
  const { path, moveTo, bytes, old } = step;
  if (!old) return create(path, bytes, { files, undo });
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
  undo: Undo[];
  mode?: number;
}

async function create(path: string, bytes: Buffer, { files, undo, mode }: Committing): Promise<FileInfo> {
  // On their own first: folders made for a file that is taken back go with it.
  for (const folder of await files.makeDirectories(dirname(path))) {
    undo.push({ path: folder, run: () => files.deleteDirectory(folder) });
  }
  const { info } = await files.writeFileAtomic(path, bytes, {
    ifAbsent: true,
    ...(mode === undefined ? {} : { mode }),
  });
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
    throw toolError("stale", `${path} was changed by someone else meanwhile`, { next: "Read it again, then repeat." });
  }
  await files.deleteFile(path);
  undo.push({ path, run: () => files.writeFileAtomic(path, old.bytes, { ifAbsent: true, mode: old.info.mode }) });
}

/** The last first; the paths at which it did not work. */
async function rollBack(undo: readonly Undo[]): Promise<string[]> {
  const left: string[] = [];
  for (const { path, run } of undo.toReversed()) await run().catch(() => left.push(path));
  return left;
}

function failedPartway(error: unknown, left: readonly string[]): ToolError {
  const { code, message, data } = toFailure(error);
  if (left.length === 0) {
    return toolError(code, message, { next: "Nothing of the patch was applied.", data, cause: error });
  }
  return toolError(
    "io_error",
    `The patch failed half-way (${message}), and could not be taken back in: ${left.join(", ")}`,
    {
      next: "Look at these files before going on.",
      data: { paths: left },
      cause: error,
    },
  );
}
