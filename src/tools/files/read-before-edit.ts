import { createHash } from "node:crypto";
import { toolError, type ToolError } from "../../core/error.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { FileInfo } from "../../io/files/open-file.ts";

/** Max remembered files per session. The oldest are forgotten and must be read again. */
const MAX_FILES = 10_000;
const MAX_SESSIONS = 1_000;

/** Up to this size a hash of the content is stored, so a file with only a new timestamp is not reported as changed. */
export const FINGERPRINTED_BYTES = 256 * 1024;

/**
 * Which files each session has read. An edit of an unread file is a guess, and an edit of a file that has changed
 * since would overwrite someone's work; these are different errors. A partial read and the session's own write are
 * also recorded.
 */
export interface ReadLedger {
  /** `bytes`: the whole content, if available. */
  saw(context: ToolContext, info: FileInfo, bytes?: Buffer): void;
  /** Transfers the record of `from` to its new path. */
  moved(context: ToolContext, from: string, to: string): void;
  /** Throws `not_read`. For use without the lock of the file, when another call may be writing it. */
  requireRead(context: ToolContext, file: CurrentFile, shown: string): void;
  /** Throws `not_read` or `stale`. */
  requireFresh(context: ToolContext, file: CurrentFile, shown: string): void;
}

/** A file with its current content. */
interface CurrentFile {
  info: FileInfo;
  bytes: Buffer;
}

interface Seen {
  stamp: string;
  fingerprint?: string;
}

/** A record as it is stored beyond this process. */
export interface SeenFile extends Seen {
  session: string;
  path: string;
}

/** A persistent store: what it knew at the start, and where new records are added. */
export interface SeenFiles {
  readonly known: readonly SeenFile[];
  add(file: SeenFile): void;
}

export function createReadLedger(store?: SeenFiles): ReadLedger {
  const sessions = new Map<string, Map<string, Seen>>();
  const seenIn = (key: string): Map<string, Seen> => {
    const seen = sessions.get(key) ?? new Map<string, Seen>();
    // Move it to the end of the map: the least recently used sessions are dropped.
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
    store?.add({ session: sessionOf(context), path, ...seen });
  };
  for (const { session, path, ...seen } of store?.known ?? []) put(seenIn(session), path, seen);
  const requireRead = (context: ToolContext, { info }: CurrentFile, shown: string): Seen => {
    const seen = seenBy(context).get(info.real);
    if (seen === undefined) throw notRead(shown);
    return seen;
  };
  return {
    saw(context, { real, stamp }, bytes) {
      const fingerprint = bytes && bytes.length <= FINGERPRINTED_BYTES ? fingerprintOf(bytes) : undefined;
      remember(context, real, { stamp, fingerprint });
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
    next: "Read it first (the part you want to change is enough), then repeat the call.",
  });
}

function stale(shown: string): ToolError {
  return toolError("stale", `${shown} has changed since it was read`, {
    next: "Read it again, then repeat the call with the current content.",
  });
}
