import { createHash } from "node:crypto";
import { BoundedMap } from "../../core/bounded-map.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import type { ToolContext } from "../../core/tool.ts";
import type { FileInfo } from "../../io/files/open-file.ts";

/** Max remembered files per session. The oldest are forgotten and must be read again. */
const MAX_FILES = 10_000;
const MAX_SESSIONS = 1_000;

/** An unchanged record is stored again after this time, because old records are dropped. */
const REFRESH_MS = 60 * 60_000;

/** Up to this size a hash of the content is stored, so a file with only a new timestamp is not reported as changed. */
export const FINGERPRINTED_BYTES = 256 * 1024;

/**
 * Which files each session has read. An edit of an unread file is a guess, and an edit of a file that has changed
 * since would overwrite someone's work; these are different errors. The session's own write is also recorded. A part is
 * enough for an edit. Writing a whole file needs all of it, in one read or in several.
 */
export interface ReadLedger {
  saw(context: ToolContext, info: FileInfo, what: Sight): void;
  /** Transfers the record of `from` to its new path. */
  moved(context: ToolContext, from: string, to: string): void;
  /** Throws `not_read`. For use without the lock of the file, when another call may be writing it. */
  requireRead(context: ToolContext, file: CurrentFile, shown: string): void;
  /** Throws `not_read` or `stale`. */
  requireFresh(context: ToolContext, file: CurrentFile, shown: string): void;
  /** Throws `not_read` if a part of the file was not read. */
  requireWhole(context: ToolContext, file: CurrentFile, shown: string): void;
}

export interface Sight {
  /** The whole content, if available. */
  bytes?: Buffer;
  /** What the session saw: some lines, everything, or as much as before. Default: nothing that it could write back. */
  seen?: SeenLines | "whole" | "as before";
}

/** Lines of a text that a session was given. */
export interface SeenLines {
  first: number;
  last: number;
  /** Null if it is not known. */
  total: number | null;
  /** Where the first line began, from 1. */
  column: number;
  /** Lines of which the end is missing. */
  cut: readonly { line: number; nextColumn: number }[];
}

/** A file with its current content. */
interface CurrentFile {
  info: FileInfo;
  bytes: Buffer;
}

interface Seen {
  stamp: string;
  fingerprint?: string;
  /** Whether all of it was read. */
  whole?: boolean;
}

/** Which lines of a file were read, if not all. Lost at a restart. */
interface Parts {
  /** In order, without overlap. */
  ranges: [first: number, last: number][];
  /** Lines that were read up to a column. */
  open: Map<number, number>;
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
  const sessions = new BoundedMap<string, Map<string, Seen>>(MAX_SESSIONS);
  const parts = new WeakMap<Seen, Parts>();
  const seenIn = (key: string): Map<string, Seen> => {
    const seen = sessions.get(key) ?? new BoundedMap<string, Seen>(MAX_FILES);
    sessions.set(key, seen);
    return seen;
  };
  const seenBy = (context: ToolContext): Map<string, Seen> => seenIn(sessionOf(context));
  const storedAt = new WeakMap<Seen, number>();
  const remember = (context: ToolContext, path: string, seen: Seen): void => {
    const files = seenBy(context);
    const before = files.get(path);
    files.set(path, seen);
    if (!store) return;
    const last = before && isSameRecord(before, seen) ? storedAt.get(before) : undefined;
    const now = performance.now();
    const isStored = last !== undefined && now - last < REFRESH_MS;
    storedAt.set(seen, isStored ? last : now);
    if (!isStored) store.add({ session: sessionOf(context), path, ...seen });
  };
  for (const { session, path, ...seen } of store?.known ?? []) seenIn(session).set(path, seen);
  const requireRead = (context: ToolContext, { info }: CurrentFile, shown: string): Seen => {
    const seen = seenBy(context).get(info.real);
    if (seen === undefined) throw notRead(shown);
    return seen;
  };
  return {
    saw(context, { real, stamp }, { bytes, seen: sight }) {
      const before = seenBy(context).get(real);
      const isSame = before?.stamp === stamp;
      const fingerprint =
        (isSame ? before.fingerprint : undefined) ??
        (bytes && bytes.length <= FINGERPRINTED_BYTES ? fingerprintOf(bytes) : undefined);
      const seen: Seen = { stamp, fingerprint, whole: sight === "whole" };
      if (sight === "as before") seen.whole = before?.whole;
      if (typeof sight === "object") {
        const known = addLines(isSame ? parts.get(before) : undefined, sight);
        seen.whole = (isSame && before.whole === true) || isWhole(known, sight.total);
        parts.set(seen, known);
      }
      remember(context, real, seen);
    },
    moved(context, from, to) {
      const files = seenBy(context);
      const seen = files.get(from);
      files.delete(from);
      files.delete(to);
      if (seen) remember(context, to, seen);
    },
    requireRead,
    requireWhole(context, file, shown) {
      if (requireRead(context, file, shown).whole !== true) throw readInPart(shown);
    },
    requireFresh(context, file, shown) {
      const seen = requireRead(context, file, shown);
      if (seen.stamp !== file.info.stamp && seen.fingerprint !== fingerprintOf(file.bytes)) throw stale(shown);
    },
  };
}

function isSameRecord(one: Seen, other: Seen): boolean {
  return one.stamp === other.stamp && one.fingerprint === other.fingerprint && one.whole === other.whole;
}

function sessionOf({ caller }: ToolContext): string {
  return caller.session ?? caller.agent ?? "";
}

function fingerprintOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("base64");
}

function addLines(known: Parts | undefined, { first, last, column, cut }: SeenLines): Parts {
  const open = new Map(known?.open);
  const incomplete = new Set(cut.map(({ line }) => line));
  if (column > 1 && open.get(first) !== column) incomplete.add(first);
  for (const { line, nextColumn } of cut) {
    const continues = line !== first || column === 1 || open.get(first) === column;
    if (continues) open.set(line, Math.max(nextColumn, open.get(line) ?? 0));
  }
  const ranges = known ? [...known.ranges] : [];
  let start = first;
  for (let line = first; line <= last + 1; line++) {
    if (line <= last && !incomplete.has(line)) continue;
    if (line > start) ranges.push([start, line - 1]);
    start = line + 1;
  }
  return { ranges: joinRanges(ranges), open };
}

function joinRanges(ranges: readonly [number, number][]): [number, number][] {
  const joined: [number, number][] = [];
  for (const [first, last] of ranges.toSorted((one, other) => one[0] - other[0])) {
    const previous = joined[joined.length - 1];
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else joined.push([first, last]);
  }
  return joined;
}

function isWhole({ ranges }: Parts, total: number | null): boolean {
  const [only] = ranges;
  return total === 0 || (total !== null && ranges.length === 1 && only?.[0] === 1 && only[1] >= total);
}

function readInPart(shown: string): ToolError {
  return toolError("not_read", `${shown} has been read only in part in this session`, {
    next: "Read all of it (use offset, and column for long lines) before you replace it, or change the part with edit.",
  });
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
