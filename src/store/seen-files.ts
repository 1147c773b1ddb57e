import type { SeenFile, SeenFiles } from "../tools/files/read-before-edit.ts";
import type { SqlDatabase } from "./database.ts";
import type { StoreModule } from "./table.ts";

interface Row {
  session: string;
  path: string;
  stamp: string;
  fingerprint: string | null;
}

/** So many are known again after a restart; who read more must read again, which harms nobody. */
const MAX_KNOWN = 5_000;
const RETENTION_MS = 7 * 24 * 60 * 60_000;
/** Reading is frequent and this is no evidence: written together, and what a kill takes is read again. */
const GROUPED_MS = 50;

/** Which session has read which file, so that an edit that waited for a person over a restart is still no guess. */
export const seenFilesModule: StoreModule<SeenFiles & { flush(): Promise<void> }> = {
  migrations: {
    name: "seen_files",
    versions: [
      [
        `CREATE TABLE seen_files (
           session TEXT NOT NULL,
           path TEXT NOT NULL,
           stamp TEXT NOT NULL,
           fingerprint TEXT,
           seen_at BIGINT NOT NULL,
           PRIMARY KEY (session, path)
         )`,
      ],
    ],
  },
  async open({ database, clock, warn }) {
    await database.run("DELETE FROM seen_files WHERE seen_at < ?", [clock.now() - RETENTION_MS]);
    const rows = await database.all<Row>(
      "SELECT session, path, stamp, fingerprint FROM seen_files ORDER BY seen_at DESC LIMIT ?",
      [MAX_KNOWN],
    );
    const waiting = new Map<string, SeenFile>();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let writing: Promise<void> = Promise.resolve();

    async function write(): Promise<void> {
      const files = [...waiting.values()];
      waiting.clear();
      if (files.length > 0) await save(database, files, clock.now());
    }

    function flush(): Promise<void> {
      clearTimeout(timer);
      timer = undefined;
      writing = writing.then(write).catch((error: Error) => warn(`What was read could not be kept: ${error.message}`));
      return writing;
    }

    return {
      known: rows.reverse().map(({ fingerprint, ...row }) => ({ ...row, fingerprint: fingerprint ?? undefined })),
      add(file) {
        waiting.set(JSON.stringify([file.session, file.path]), file);
        timer ??= setTimeout(() => void flush(), GROUPED_MS).unref();
      },
      flush,
    };
  },
  close: (seen) => seen.flush(),
};

async function save(database: SqlDatabase, files: readonly SeenFile[], now: number): Promise<void> {
  await database.transaction(async (tx) => {
    for (const { session, path, stamp, fingerprint = null } of files) {
      await tx.run(
        "INSERT INTO seen_files (session, path, stamp, fingerprint, seen_at) VALUES (?, ?, ?, ?, ?) " +
          "ON CONFLICT (session, path) DO UPDATE SET stamp = excluded.stamp, fingerprint = excluded.fingerprint, " +
          "seen_at = excluded.seen_at",
        [session, path, stamp, fingerprint, now],
      );
    }
  });
}
