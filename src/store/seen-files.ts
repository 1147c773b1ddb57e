import type { SeenFile, SeenFiles } from "../tools/files/read-before-edit.ts";
import type { SqlDatabase } from "./database.ts";
import { addedIn, integer, optional, type StoreContext, type StoreModule, table, text } from "./table.ts";

const seenFiles = table(
  "seen_files",
  {
    session: text(),
    path: text(),
    stamp: text(),
    fingerprint: optional(text()),
    seenAt: integer(),
    whole: addedIn(2, optional(integer())),
  },
  "PRIMARY KEY (session, path)",
);

/** Files remembered after a restart. A session that read more must read again before it edits. */
const MAX_KNOWN = 5_000;
const RETENTION_MS = 7 * 24 * 60 * 60_000;
/** Reads are frequent and not evidence: they are written in groups, and a killed process loses the last ones. */
const GROUPED_MS = 50;

/** Which session has read which file: an edit that is approved after a restart still knows what was read. */
export const seenFilesModule: StoreModule<SeenFileStore> = {
  migrations: {
    name: "seen_files",
    versions: [[seenFiles.create], seenFiles.addColumns(2)],
  },
  async open(context) {
    const { database, clock } = context;
    await database.run("DELETE FROM seen_files WHERE seen_at < ?", [clock.now() - RETENTION_MS]);
    const newest = "ORDER BY seen_at DESC LIMIT ?";
    const rows = await seenFiles.select(database, ["session", "path", "stamp", "fingerprint", "whole"], newest, [
      MAX_KNOWN,
    ]);
    const known = rows.reverse().map(({ whole, ...row }) => ({ ...row, whole: whole === 1 }));
    return new SeenFileStore(context, known);
  },
  close: (seen) => seen.flush(),
};

export class SeenFileStore implements SeenFiles {
  readonly #context: StoreContext;
  readonly #waiting = new Map<string, SeenFile>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(
    context: StoreContext,
    readonly known: readonly SeenFile[],
  ) {
    this.#context = context;
  }

  add(file: SeenFile): void {
    this.#waiting.set(JSON.stringify([file.session, file.path]), file);
    this.#timer ??= setTimeout(() => void this.flush(), GROUPED_MS).unref();
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing
      .then(() => this.#write())
      .catch((error: Error) => this.#context.warn(`The list of read files could not be saved: ${error.message}`));
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { database, clock } = this.#context;
    const files = [...this.#waiting.values()];
    this.#waiting.clear();
    if (files.length > 0) await save(database, files, clock.now());
  }
}

async function save(database: SqlDatabase, files: readonly SeenFile[], seenAt: number): Promise<void> {
  await database.transaction(async (tx) => {
    for (const { session, path, stamp, fingerprint, whole } of files) {
      await seenFiles.upsert(tx, { session, path, stamp, fingerprint, seenAt, whole: whole ? 1 : 0 }, [
        "session",
        "path",
      ]);
    }
  });
}
