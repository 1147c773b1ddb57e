import type { AuditHead, AuditProblem, AuditReport, VerifyOptions } from "../../gate/audit-log.ts";
import type { SqlDatabase, SqlRunner } from "../database.ts";
import { audit, auditHead, type AuditRow, hashOfRow, readBase } from "./audit-chain.ts";
import { findPruning } from "./audit-segments.ts";
import { auditCheckpoint } from "./index-tables.ts";

const PAGE = 500;
/** Of rows that another thread reads. */
const CHAIN_PAGE = 2000;
const MAX_PROBLEMS = 1000;
/** Earlier versions wrote hashes as hex. */
const HEX_LENGTH = 64;
/** Below every number that an entry can have. */
const BEFORE_ALL = -Number.MAX_SAFE_INTEGER;

/** What is hashed, without the hash before. The same text as `JSON.stringify` of the values, if numbers are integers. */
const CHAIN_ROWS = (() => {
  const columns = audit.keys.filter((key) => key !== "hash" && key !== "previous").map((key) => audit.list([key]));
  return `SELECT seq, previous, hash, json_array(${columns.join(", ")}) AS hashed FROM audit WHERE seq > ? ORDER BY seq LIMIT ${CHAIN_PAGE}`;
})();

/**
 * Checks the chain in slices. Finds every entry that was altered, removed, inserted or moved, and an end that was cut off
 * while the head still knows it. Does not find a writer who recomputes all hashes up to the head, or who restores an older
 * copy: against that, note a head where such a writer has no access, and pass it as `anchor`.
 */
export async function verifyAudit(
  database: SqlDatabase,
  { anchor, now, sinceCheckpoint, onProgress }: VerifyOptions & { anchor?: AuditHead; now: number },
): Promise<AuditReport> {
  const check = new ChainCheck(database, anchor);
  await check.begin();
  const checkpoint = sinceCheckpoint ? await check.resume() : undefined;
  const report = await check.run(onProgress);
  if (!report.ok) return report;
  const sound = { id: 1, seq: report.head.count, hash: report.head.hash, at: now };
  // If it cannot be written, the next check begins earlier.
  await auditCheckpoint.upsert(database, sound, ["id"]).catch(() => undefined);
  return checkpoint ? { ...report, checkpoint } : report;
}

class ChainCheck {
  readonly #database: SqlDatabase;
  readonly #anchor: AuditHead | undefined;
  readonly #problems: AuditProblem[] = [];
  #last = { seq: 0, hash: "" };
  #position = BEFORE_ALL;
  #count = 0;
  #isAnchored: boolean;
  #pruned: AuditReport["pruned"];

  constructor(database: SqlDatabase, anchor: AuditHead | undefined) {
    this.#database = database;
    this.#anchor = anchor;
    this.#isAnchored = anchor === undefined || anchor.count === 0;
  }

  /** Entries that were pruned are not checked: the chain goes on from the last one, and has an entry about them. */
  async begin(): Promise<void> {
    const base = await readBase(this.#database);
    if (base.seq === 0) return;
    this.#continueFrom(base);
    this.#pruned = await findPruning(this.#database, base);
    if (this.#pruned) return;
    const message = `Entries 1 to ${base.seq} are missing: no entry says that they were pruned.`;
    this.#report(1, "missing", message);
  }

  /** Begins behind the checkpoint, if its entry is still the one that was checked. */
  async resume(): Promise<{ seq: number; at: number } | undefined> {
    const [found] = await auditCheckpoint.select(this.#database, ["seq", "hash", "at"], "WHERE id = 1");
    if (!found || found.seq <= this.#last.seq || (this.#anchor && this.#anchor.count < found.seq)) return undefined;
    const { seq, hash, at } = found;
    const [row] = await audit.select(this.#database, ["hash"], "WHERE seq = ?", [seq]);
    if (row?.hash !== hash) return undefined;
    this.#continueFrom({ seq, hash });
    return { seq, at };
  }

  #continueFrom({ seq, hash }: { seq: number; hash: string }): void {
    this.#last = { seq, hash };
    this.#position = seq;
    if (this.#anchor?.count === seq) this.#isAnchored = this.#anchor.hash === hash;
  }

  async run(onProgress: VerifyOptions["onProgress"]): Promise<AuditReport> {
    let end = await this.#readEnd();
    const of = Math.max(0, end.count - Math.max(0, this.#position));
    const progress = (): void => onProgress?.(this.#count, of);
    for (;;) {
      while (await this.#checkPage()) progress();
      // Other processes may have written since.
      const now = await this.#readEnd();
      if (now.count === end.count && now.hash === end.hash) break;
      end = now;
    }
    await this.#checkAnchor();
    this.#checkEnd(end);
    const head = { count: end.count, hash: end.hash };
    const [pruned, problems] = [this.#pruned, this.#problems];
    return { ok: problems.length === 0, count: this.#count, head, pruned, problems };
  }

  /** False if there are no more entries. */
  async #checkPage(): Promise<boolean> {
    const { reader } = this.#database;
    const last = this.#last;
    // Rows that the thread does not confirm are read and hashed here: only these are reported.
    const follow = this.#position === last.seq ? reader.followChain : undefined;
    const part = await follow?.(CHAIN_ROWS, [last.seq], last);
    if (part && part.count > 0) this.#acceptPart(part);
    if (part && part.count === part.read) return part.read > 0;
    const rows = await audit.select(reader, audit.keys, `WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`, [this.#position]);
    for (const row of rows) this.#accept(row, this.#check(row));
    return rows.length > 0;
  }

  #acceptPart({ seq, hash, count }: { seq: number; hash: string; count: number }): void {
    this.#last = { seq, hash };
    this.#position = seq;
    this.#count += count;
  }

  #accept({ seq, hash }: { seq: number; hash: string }, isLink: boolean): void {
    if (isLink) this.#last = { seq, hash };
    this.#count++;
    this.#position = seq;
  }

  /** Whether the row continues the chain. */
  #check(row: AuditRow): boolean {
    const { seq } = row;
    const last = this.#last;
    if (!Number.isSafeInteger(seq) || seq <= last.seq) {
      this.#report(seq, "inserted", `Entry ${seq} was inserted: no entry has this number.`);
      return false;
    }
    if (seq > last.seq + 1) {
      const first = last.seq + 1;
      const message = first === seq - 1 ? `Entry ${first} is missing.` : `Entries ${first} to ${seq - 1} are missing.`;
      this.#report(first, "missing", message);
    }
    const isFollowing = seq === last.seq + 1;
    const previous = row.previous || last.hash;
    if (hashOfRow(row, previous, row.hash.length === HEX_LENGTH ? "hex" : "base64url") !== row.hash) {
      // If the entry before is missing, its hash is not known.
      const which = row.previous ? "it" : `it, or entry ${seq - 1}`;
      if (isFollowing || row.previous)
        this.#report(seq, "altered", `Entry ${seq} does not match its hash: ${which} was altered.`);
    } else if (previous !== last.hash && isFollowing) {
      this.#report(seq, "unlinked", `Entry ${seq} does not continue entry ${seq - 1}: one of the two was replaced.`);
    }
    return true;
  }

  async #checkAnchor(): Promise<void> {
    if (!this.#anchor || this.#isAnchored) return;
    const [row] = await audit.select(this.#database, ["hash"], "WHERE seq = ?", [this.#anchor.count]);
    this.#isAnchored = row?.hash === this.#anchor.hash;
  }

  #checkEnd(end: AuditHead & { exists: boolean }): void {
    const last = this.#last;
    if (!end.exists) this.#report(last.seq, "head", "The head is missing, so a cut-off end cannot be detected.");
    else if (last.seq < end.count) {
      const message = `Entries ${last.seq + 1} to ${end.count} are missing: the end was cut off.`;
      this.#report(last.seq + 1, "missing", message);
    } else if (last.seq > end.count) {
      const message = `Entries from ${end.count + 1} on were inserted: the head does not include them.`;
      this.#report(end.count + 1, "inserted", message);
    } else if (last.hash !== end.hash) {
      this.#report(last.seq, "head", "The head does not match the last entry: one of the two was altered.");
    }
    if (!this.#anchor || this.#isAnchored) return;
    const { count } = this.#anchor;
    const message =
      this.#pruned && count <= this.#pruned.upTo
        ? `Entry ${count}, whose hash was noted, was pruned, as entry ${this.#pruned.seq} says: it cannot be compared.`
        : `Entry ${count} is not the one whose hash was noted: the log was rewritten or cut.`;
    this.#report(count, "altered", message);
  }

  #report(seq: number, problem: AuditProblem["problem"], message: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ seq, problem, message });
  }

  async #readEnd(): Promise<AuditHead & { exists: boolean }> {
    const [head] = await auditHead.select(this.#database, ["count", "hash"], "WHERE id = 1");
    return head ? { ...head, exists: true } : { count: 0, hash: "", exists: false };
  }
}

const NEWEST = 100;

/** Whether the newest entries match the head and each other: a look at each start. `verify` checks all. */
export async function findMismatch(database: SqlRunner): Promise<string | undefined> {
  const [head] = await auditHead.select(database, ["count", "hash"], "WHERE id = 1");
  const newest = (await audit.select(database, audit.keys, "ORDER BY seq DESC LIMIT ?", [NEWEST])).reverse();
  const last = newest.at(-1);
  const isLinked = newest.every((row, at) => {
    const before = newest[at - 1];
    const encoding = row.hash.length === HEX_LENGTH ? "hex" : "base64url";
    return !before || (row.seq === before.seq + 1 && hashOfRow(row, before.hash, encoding) === row.hash);
  });
  if (isLinked && (!last || (head?.count === last.seq && head.hash === last.hash))) return undefined;
  return "The end of the audit log does not match its head: entries were changed or removed. `haft audit verify` shows where.";
}
