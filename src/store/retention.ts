import type { Clock, Timer } from "../core/clock.ts";
import { type AuditSegment, readBase } from "./audit/audit-chain.ts";
import { archiveSegment, deleteUpTo, pruneSegments, sealedSegments } from "./audit/audit-segments.ts";
import { withDefaults } from "../core/options.ts";
import { errorMessage, toolError } from "../core/error.ts";
import type { PruningRule } from "../gate/audit-log.ts";
import type { SqlDatabase } from "./database.ts";

/** How long and how much is kept. */
export interface RetentionLimits {
  /** Audit entries. Deleted in segments of 10,000, oldest first. */
  auditDays: number;
  /** The whole store. If it is larger, the oldest audit segments are deleted. */
  maxMb: number;
  /** Conversations that nobody used. */
  sessionDays: number;
  /** Whole texts of results that were too long. */
  outputDays: number;
  /** Audit segments are written to files before they are deleted. */
  archives: boolean;
}

const DEFAULT_RETENTION: RetentionLimits = {
  auditDays: 90,
  maxMb: 2048,
  sessionDays: 180,
  outputDays: 7,
  archives: false,
};

/** With the defaults. */
export function retentionOf(configured: Partial<RetentionLimits> | undefined): RetentionLimits {
  return withDefaults(DEFAULT_RETENTION, configured);
}

export interface PruneReport {
  auditEntries: number;
  sessions: number;
  /** Files that were written before. */
  archives: string[];
  /** Of the store, before and after. The file becomes smaller by `vacuum` only; its free space is used again. */
  bytesBefore: number;
  bytesAfter: number;
}

interface RetentionOptions {
  database: SqlDatabase;
  clock: Clock;
  /** The name of this process in the audit log. */
  owner: string;
  outputs: { pruneOutputs(before: number): unknown };
  /** Where archives are written. */
  folder: string | undefined;
  warn(message: string): void;
}

const DAY_MS = 24 * 60 * 60_000;
/** Then a use counts less than a thousandth. */
const TOOL_USE_DAYS = 180;
const FIRST_MS = 60_000;
const EVERY_MS = 60 * 60_000;
/** More is freed than needed, so not every hour has to prune. */
const TARGET = 0.9;
const MB = 1024 * 1024;
const IS_GONE = "NOT EXISTS (SELECT 1 FROM sessions WHERE key = ?)";

/** Deletes what is too old or too much. A host does that every hour, `haft store prune` at once. */
export class Retention {
  readonly #options: RetentionOptions;
  #timer: Timer | undefined;
  #running: Promise<unknown> | undefined;
  readonly #closing = new AbortController();

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Prunes every hour, while the process lives. */
  start(limitsNow: () => RetentionLimits): void {
    const { clock, warn } = this.#options;
    const next = (ms: number): void => {
      if (this.#closing.signal.aborted) return;
      this.#timer = clock.after(ms, () => {
        const failed = (error: unknown): void =>
          warn(
            `The store was not pruned (${errorMessage(error)}). The next attempt is in an hour; \`haft store prune\` makes one now.`,
          );
        this.#running = this.prune(limitsNow())
          .catch(failed)
          .then(() => next(EVERY_MS));
      });
      this.#timer.setRef(false);
    };
    next(FIRST_MS);
  }

  /** Stops after the current slice. The next process goes on there. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#timer?.cancel();
    await this.#running;
  }

  async prune(limits: RetentionLimits, { isDryRun = false } = {}): Promise<PruneReport> {
    const { database, clock, owner, outputs } = this.#options;
    const { signal } = this.#closing;
    const { used: bytesBefore } = await database.size();
    // What an earlier process has not finished: it counts as too much only if it stays.
    const rest = isDryRun ? 0 : await deleteUpTo(database, (await readBase(database)).seq, signal);
    const { used } = rest > 0 ? await database.size() : { used: bytesBefore };
    const { due, rule } = await this.#dueSegments(limits, used);
    const idleBefore = clock.now() - limits.sessionDays * DAY_MS;
    const report: PruneReport = { auditEntries: 0, sessions: 0, archives: [], bytesBefore, bytesAfter: bytesBefore };
    report.sessions = await this.#pruneSessions(idleBefore, isDryRun);
    if (isDryRun) {
      report.auditEntries = due.reduce((sum, { firstSeq, lastSeq }) => sum + lastSeq - firstSeq + 1, 0);
      return report;
    }
    await outputs.pruneOutputs(clock.now() - limits.outputDays * DAY_MS);
    await database.run("DELETE FROM tool_use WHERE last_used_at < ?", [clock.now() - TOOL_USE_DAYS * DAY_MS]);
    const segments: AuditSegment[] = [];
    for (const segment of due) {
      const archive = limits.archives ? await this.#archive(segment) : segment.archive;
      if (archive !== undefined) report.archives.push(archive);
      segments.push({ ...segment, archive });
    }
    if (signal.aborted) return report;
    report.auditEntries = rest + (await pruneSegments(database, { segments, rule, at: clock.now(), owner, signal }));
    report.bytesAfter = (await database.size()).used;
    return report;
  }

  /** Writes sealed segments to files. They stay in the store. */
  async archive(): Promise<string[]> {
    const files: string[] = [];
    for await (const segment of sealedSegments(this.#options.database)) {
      if (segment.archive === undefined) files.push(await this.#archive(segment));
    }
    return files;
  }

  /** Gives free space back to the disk. Nothing can be written meanwhile. */
  async vacuum(): Promise<{ bytesBefore: number; bytesAfter: number }> {
    const { database } = this.#options;
    const { all: bytesBefore } = await database.size();
    await database.compact();
    return { bytesBefore, bytesAfter: (await database.size()).all };
  }

  /** The oldest segments up to the first that may stay, and the limits that they exceed. */
  async #dueSegments(
    { auditDays, maxMb }: RetentionLimits,
    used: number,
  ): Promise<{ due: AuditSegment[]; rule: PruningRule }> {
    const { database, clock } = this.#options;
    const before = clock.now() - auditDays * DAY_MS;
    const sealed: AuditSegment[] = [];
    for await (const segment of sealedSegments(database)) sealed.push(segment);
    const tooMuch = used > maxMb * MB ? Math.ceil(sealed.length * (1 - (maxMb * MB * TARGET) / used)) : 0;
    const young = sealed.findIndex(({ lastAt }) => lastAt >= before);
    const tooOld = young < 0 ? sealed.length : young;
    const rule = { auditDays: tooOld > 0 ? auditDays : undefined, maxMb: tooMuch > tooOld ? maxMb : undefined };
    return { due: sealed.slice(0, Math.max(tooOld, tooMuch)), rule };
  }

  #archive(segment: AuditSegment): Promise<string> {
    const { database, folder } = this.#options;
    if (folder === undefined) {
      throw toolError("invalid_input", "The store has no folder for archives", {
        next: "Pass `archiveFolder` to openStore.",
      });
    }
    return archiveSegment(database, segment, folder);
  }

  /** Trees of sessions, as a whole. */
  async #pruneSessions(before: number, isDryRun: boolean): Promise<number> {
    const { database } = this.#options;
    const idle =
      "SELECT key FROM sessions WHERE owner IS NULL AND is_open = 0 AND root IN (SELECT root FROM sessions GROUP BY root HAVING MAX(updated_at) < ?)";
    const found = await database.reader.all<{ key: string }>(idle, [before]);
    if (isDryRun) return found.length;
    for (const { key } of found) {
      await database.reader.write([
        // Somebody may use it by now: then all of it stays.
        ["DELETE FROM sessions WHERE key = ? AND owner IS NULL AND updated_at < ?", [key, before]],
        [`DELETE FROM session_entries WHERE session = ? AND ${IS_GONE}`, [key, key]],
        [`DELETE FROM session_inbox WHERE session = ? AND ${IS_GONE}`, [key, key]],
        // Their names are stored as JSON.
        [`DELETE FROM taint_marks WHERE session = ? AND ${IS_GONE}`, [JSON.stringify(key), key]],
        [`DELETE FROM provenance WHERE session = ? AND ${IS_GONE}`, [JSON.stringify(key), key]],
      ]);
    }
    return found.length;
  }
}
