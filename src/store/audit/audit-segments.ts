import { existsSync } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type { SqlDatabase } from "../database.ts";
import { forgetting } from "./audit-index.ts";
import { audit, auditSegments, type AuditSegment, readBase } from "./audit-chain.ts";

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

/** Deletes the entries of a segment, in slices. It is noted first: `verify` then starts behind it, also if this stops halfway. */
export async function pruneSegment(database: SqlDatabase, segment: AuditSegment, prunedAt: number): Promise<number> {
  await auditSegments.upsert(database, { ...segment, prunedAt }, ["lastSeq"]);
  return deleteUpTo(database, segment.lastSeq);
}

/** Also what an earlier process left. */
export async function deleteUpTo(database: SqlDatabase, seq: number): Promise<number> {
  const [first] = await database.reader.all<{ seq: number | null }>("SELECT MIN(seq) AS seq FROM audit");
  let deleted = 0;
  for (let from = first?.seq ?? seq + 1; from <= seq; from += PAGE) {
    const to = Math.min(from + PAGE - 1, seq);
    await database.reader.write([
      ["DELETE FROM audit WHERE seq >= ? AND seq <= ?", [from, to]],
      ...forgetting(database.engine, to),
    ]);
    deleted += to - from + 1;
  }
  return deleted;
}

function padded(seq: number): string {
  return String(seq).padStart(12, "0");
}
