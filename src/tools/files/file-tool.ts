import type { Files } from "../../files/files.ts";
import type { LineIndexes } from "../../files/line-index.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { ReadLedger } from "./read-ledger.ts";

/** What the file tools are given. */
export interface FileToolDependencies {
  files: Files;
  reads: ReadLedger;
  lineIndexes: LineIndexes;
  /** Whether a file must have been read before it is changed; on unless said otherwise. */
  requireRead?: boolean;
  /** A larger file is given by ranges of lines only, and no range that is larger; absent, windows are cut instead. */
  maxReadBytes?: number;
}

/** The files of one call: never more than the runtime allows, its changes journalled under its id and its tool's name. */
export function filesOf({ files }: Pick<FileToolDependencies, "files">, context: ToolContext, tool?: string): Files {
  const { session, user, agent } = context.caller;
  return files.narrow(context.allowedPaths, { callId: context.callId, session, user, agent, tool });
}

/** The lock of a path: where it really leads, so that two names of one file are one. A path that may not be used has none. */
export function pathLock(files: Files, path: string): string {
  try {
    return `file:${files.realPath(path, "write")}`;
  } catch {
    return `file:${path}`;
  }
}

/** Names of the path parameter that models of other families use. */
export const PATH_ALIASES = { file_path: "path", filePath: "path", filename: "path", file: "path" } as const;
