import { createHash } from "node:crypto";
import { toolError, type ToolError } from "../../core/error.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { FileInfo } from "../../io/files/open-file.ts";

/** Most files that one session is remembered to have read; the oldest are forgotten, and must be read again. */
const MAX_FILES = 10_000;
const MAX_SESSIONS = 1_000;

/** Up to this size the content itself is remembered, so that a file which was merely touched is not called changed. */
export const FINGERPRINTED_BYTES = 256 * 1024;

/**
 * What each session has seen of which file. An edit of a file that was never read is a guess, and one of a file that
 * changed since would undo somebody's work; the two are different errors. A partial read counts, and so does the
 * session's own write.
 */
export interface ReadLedger {
  /** `bytes`: the whole content, where it is at hand. */
  saw(context: ToolContext, info: FileInfo, bytes?: Buffer): void;
  /** What was seen at `from` has been seen at its new place; what was not, has not. */
  moved(context: ToolContext, from: string, to: string): void;
  /** Throws `not_read`: all that can be asked without the file's lock, while another call may be writing it. */
  requireRead(context: ToolContext, file: FileNow, shown: string): void;
  /** Throws `not_read` or `stale`. */
  requireFresh(context: ToolContext, file: FileNow, shown: string): void;
}

/** A file with its content as it is now. */
interface FileNow {
  info: FileInfo;
  bytes: Buffer;
}

interface Seen {
  stamp: string;
  fingerprint?: string | undefined;
}

/** One line of the ledger, as it is kept beyond this process. */
export interface SeenFile extends Seen {
  session: string;
  path: string;
}

/** A memory that outlives the process: what it knew at the beginning, and who is told of what is seen from now on. */
export interface SeenFiles {
  readonly known: readonly SeenFile[];
  add(file: SeenFile): void;
}

export function createReadLedger(kept?: SeenFiles): ReadLedger {
  const sessions = new Map<string, Map<string, Seen>>();
  const seenIn = (key: string): Map<string, Seen> => {
    const seen = sessions.get(key) ?? new Map<string, Seen>();
    // To the end of the map: the sessions used last are kept.
    sessions.delete(key);
    sessions.set(key, seen);
    dropOldest(sessions, MAX_SESSIONS);
    return seen;
  };
  const seenBy = (context: ToolContext): Map<string, Seen> => seenIn(sessionOf(context));
  const put = (files: Map<string, Seen>, path: string, seen: Seen): void => {
    files.delete(path);
    files.set(path, seen);
    dropOldest(files, MAX_FILES);
  };
  const remember = (context: ToolContext, path: string, seen: Seen): void => {
    put(seenBy(context), path, seen);
    kept?.add({ session: sessionOf(context), path, ...seen });
  };
  for (const { session, path, ...seen } of kept?.known ?? []) put(seenIn(session), path, seen);
  const requireRead = (context: ToolContext, { info }: FileNow, shown: string): Seen => {
    const seen = seenBy(context).get(info.real);
    if (seen === undefined) throw notRead(shown);
    return seen;
  };
  return {
    saw(context, { real, stamp }, bytes) {
      const fingerprint = bytes && bytes.length <= FINGERPRINTED_BYTES ? fingerprintOf(bytes) : undefined;
      remember(context, real, { stamp, fingerprint: fingerprint || undefined });
    },
    moved(context, from, to) {
      const files = seenBy(context);
      const seen = files.get(from);
      files.delete(from);
      files.delete(to);
      if (seen) remember(context, to, seen);
    },
    requireRead,
    requireFresh(context, file, shown) {
      const seen = requireRead(context, file, shown);
      if (seen.stamp !== file.info.stamp && seen.fingerprint !== fingerprintOf(file.bytes)) throw stale(shown);
    },
  };
}

function sessionOf({ caller }: ToolContext): string {
  return caller.session ?? caller.agent ?? "";
}

function fingerprintOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64");
}

function dropOldest(map: Map<string, unknown>, max: number): void {
  for (const oldest of map.keys()) {
    if (map.size <= max) return;
    map.delete(oldest);
  }
}

function notRead(shown: string): ToolError {
  return toolError("not_read", `${shown} has not been read in this session`, {
    next: "Read it first (the part that you want to change is enough), then repeat the call.",
  });
}

function stale(shown: string): ToolError {
  return toolError("stale", `${shown} has changed since it was read`, {
    next: "Read it again, then repeat the call with what stands there now.",
  });
}
