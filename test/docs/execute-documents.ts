import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { openWorkshop, originalOf, readDocuments, runDocument, type Workshop } from "../../scripts/docs/index.mjs";
import type { TestPostgres } from "../../src/store/postgres/start-postgres.fixture.ts";
import { ROOT } from "../architecture/read-entries.ts";

const MAX_AT_ONCE = 2;

/** Every block of these documents runs against the packed archive. `npm run docs:run -- FILE` does the same for one. */
export function executeDocuments(isWanted: (file: string) => boolean): void {
  const documents = readDocuments(ROOT).filter(({ file, blocks }) => blocks.length > 0 && isWanted(file));
  const runs = new Map<string, ReturnType<typeof runDocument>>();
  let workshop: Workshop | undefined;
  let postgres: Promise<TestPostgres> | undefined;

  /** One of the server that all test files share. */
  async function createDatabase(): Promise<string> {
    postgres ??= import("../../src/store/postgres/start-postgres.fixture.ts").then(({ startPostgres }) =>
      startPostgres(),
    );
    return (await postgres).createDatabase();
  }

  let free = MAX_AT_ONCE;
  const waiting: (() => void)[] = [];

  /** Starts the next one when one of those that run has ended. */
  async function inTurn<T>(run: () => Promise<T>): Promise<T> {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      return await run();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  }

  // The blocks are command lines for `sh`.
  const isHere = process.platform !== "win32";

  beforeAll(async () => {
    if (!isHere) return;
    const response = await fetch(inject("archiveAddress"));
    const archive = await response.text();
    if (!response.ok) throw new Error(archive);
    const opened = (workshop = openWorkshop(archive));
    const originals = new Map(documents.map((document) => [document, originalOf(document, documents)]));
    // The longest first, so none of them is alone at the end.
    const executed = documents
      .filter((document) => originals.get(document) === undefined)
      .sort((a, b) => b.blocks.length - a.blocks.length);
    for (const document of executed) {
      const run = inTurn(() => runDocument(document, opened, { createDatabase }));
      // Its test reports a failure.
      run.catch(() => undefined);
      runs.set(document.file, run);
    }
    for (const [{ file }, original] of originals) {
      const run = original && runs.get(original.file);
      if (run) runs.set(file, run);
    }
  }, 300_000);

  afterAll(async () => {
    workshop?.close();
    await (await postgres?.catch(() => undefined))?.stop();
  });

  test.runIf(isHere).for(documents.map(({ file }) => file))(
    "%s does what it says",
    { timeout: 300_000 },
    async (file, { skip }) => {
      const { problems, skipped } = (await runs.get(file)) ?? {};
      skip(skipped !== undefined, skipped);
      expect(problems?.map(({ line, message, details }) => `${file}:${line} ${message}\n${details}`)).toEqual([]);
    },
  );
}
