import { existsSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { createGzip } from "node:zlib";
import type { AuditReport, PruningRule } from "../../gate/audit-log.ts";
import type { SqlDatabase } from "../database.ts";
import { forgetting } from "./audit-index.ts";
import { RARE_KINDS } from "./index-tables.ts";
import { appendAudit, audit, auditSegments, type AuditSegment, readBase, toDraft, toEntry } from "./audit-chain.ts";

/** Entries of one segment. It is sealed once it has all of them; then it can be archived and pruned, as a whole. */
const SEGMENT_SIZE = 10_000;

/** Sealed segments that are still in the log, oldest first. */
export async function* sealedSegments(database: SqlDatabase): AsyncGenerator<AuditSegment> {
  const [head] = await database.all<{ count: number }>("SELECT count FROM audit_head WHERE id = 1");
  let last = await readBase(database);
  while (last.seq + SEGMENT_SIZE <= (head?.count ?? 0)) {
    const lastSeq = last.seq + SEGMENT_SIZE;
    const [end] = await audit.select(database, ["at", "hash"], "WHERE seq = ?", [lastSeq]);
    // Removed by somebody: `verify` reports it, and nothing more is pruned.
    if (!end) return;
    const [known] = await auditSegments.select(database, ["archive"], "WHERE last_seq = ?", [lastSeq]);
    const { at: lastAt, hash } = end;
    yield { lastSeq, firstSeq: last.seq + 1, previous: last.hash, hash, lastAt, archive: known?.archive };
    last = { seq: lastSeq, hash: end.hash };
  }
}

const PAGE = 500;

export async function archiveSegment(database: SqlDatabase, segment: AuditSegment, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, `audit-${padded(segment.firstSeq)}-${padded(segment.lastSeq)}.jsonl.gz`);
  // If it exists, an earlier process ended before it could note that.
  if (!existsSync(file)) await writeArchive(database, segment, file);
  await auditSegments.upsert(database, { ...segment, archive: file }, ["lastSeq"]);
  return file;
}

/** First what the segment continues, then one entry a line. The file appears as a whole. */
async function writeArchive(database: SqlDatabase, segment: AuditSegment, file: string): Promise<void> {
  const { firstSeq, lastSeq, previous, hash } = segment;
  const part = `${file}.part`;
  const handle = await open(part, "w", 0o600);
  try {
    const lines = async function* (): AsyncGenerator<string> {
      yield `${JSON.stringify({ firstSeq, lastSeq, previous, hash })}\n`;
      for (let after = firstSeq - 1; after < lastSeq; after += PAGE) {
        const where = "WHERE seq > ? AND seq <= ? ORDER BY seq";
        const limits = [after, Math.min(after + PAGE, lastSeq)];
        for (const row of await audit.select(database.reader, audit.keys, where, limits)) {
          yield `${JSON.stringify(row)}\n`;
        }
      }
    };
    await pipeline(Readable.from(lines()), createGzip(), handle.createWriteStream({ flush: true }));
    await rename(part, file);
  } catch (error) {
    await handle.close().catch(() => undefined);
    await rm(part, { force: true });
    throw error;
  }
}

export interface Pruning {
  /** Stops after a slice. */
  signal?: AbortSignal;
  /** The oldest ones, without a gap. */
  segments: readonly AuditSegment[];
  rule: PruningRule;
  at: number;
  /** The name of this process in the log. */
  owner: string;
}

/**
 * Deletes the entries of segments, in slices. First the chain gets an entry about it, and `verify` starts behind them from
 * then on, also if this stops halfway.
 */
export async function pruneSegments(database: SqlDatabase, pruning: Pruning): Promise<number> {
  const { segments, rule, at, owner, signal } = pruning;
  const [first, last] = [segments[0], segments.at(-1)];
  if (!first || !last) return 0;
  const archives = segments.flatMap(({ archive }) => archive ?? []);
  const data = { first: first.firstSeq, upTo: last.lastSeq, hash: last.hash, rule, archives };
  const draft = toDraft({ kind: "log_pruned", data }, at, owner);
  await database.transaction(
    async (tx) => {
      await tx.lock("audit");
      await appendAudit(tx, [{ draft: () => draft }]);
      for (const segment of segments) await auditSegments.upsert(tx, { ...segment, prunedAt: at }, ["lastSeq"]);
    },
    { synced: true },
  );
  return deleteUpTo(database, last.lastSeq, signal);
}

const NEWEST = `AND seq > ? AND ${RARE_KINDS} ORDER BY seq DESC LIMIT 1`;
const PRUNING = `WHERE kind = 'log_pruned' ${NEWEST}`;
/** What earlier versions wrote. */
const EARLIER_NOTE = `WHERE kind = 'note' AND data LIKE '%"audit_pruned"%' ${NEWEST}`;

/**
 * The entry of the chain which says that everything up to `base` was pruned: the newest one. Undefined if it says something
 * else: then somebody has deleted these entries, or forged the tables. Whether the entry itself is sound, `verify` sees.
 */
export async function findPruning(
  { reader }: SqlDatabase,
  base: { seq: number; hash: string },
): Promise<AuditReport["pruned"]> {
  const find = async (where: string) => (await audit.select(reader, audit.keys, where, [base.seq]))[0];
  const row = (await find(PRUNING)) ?? (await find(EARLIER_NOTE));
  const { upTo, hash, rule } = (row ? toEntry(row).data : {}) as { upTo?: number; hash?: string; rule?: PruningRule };
  return row && upTo === base.seq && hash === base.hash ? { upTo, at: row.at, seq: row.seq, rule } : undefined;
}

/** Writers of other processes look for a lock as often, so each gets its turn between two slices. */
const PAUSE_MS = 25;

/** Also what an earlier process left. If it is stopped, the next one goes on. */
export async function deleteUpTo(database: SqlDatabase, seq: number, signal?: AbortSignal): Promise<number> {
  const { reader, words } = database;
  const [first] = await reader.all<{ seq: number | null }>("SELECT MIN(seq) AS seq FROM audit");
  let deleted = 0;
  if ((first?.seq ?? seq + 1) <= seq) await reader.write(words.beforeForget);
  for (let from = first?.seq ?? seq + 1; from <= seq && !signal?.aborted; from += PAGE) {
    const to = Math.min(from + PAGE - 1, seq);
    const began = performance.now();
    await reader.write([["DELETE FROM audit WHERE seq >= ? AND seq <= ?", [from, to]], ...forgetting(database, to)]);
    deleted += to - from + 1;
    // Half of the time belongs to others.
    await sleep(Math.max(PAUSE_MS, performance.now() - began));
  }
  return deleted;
}

function padded(seq: number): string {
  return String(seq).padStart(12, "0");
}
