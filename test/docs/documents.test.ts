import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { openWorkshop, readDocuments, runDocument, type Workshop } from "../../scripts/docs/index.mjs";
import { ROOT } from "../architecture/read-entries.ts";

// Every block of every document runs against the packed archive. `npm run docs:run -- FILE` does the same for one.
const MAX_AT_ONCE = 2;
const documents = readDocuments(ROOT).filter(({ blocks }) => blocks.length > 0);
const runs = new Map<string, ReturnType<typeof runDocument>>();
let workshop: Workshop | undefined;

// The blocks are command lines for `sh`.
const isHere = process.platform !== "win32";

beforeAll(async () => {
  if (!isHere) return;
  const response = await fetch(inject("archiveAddress"));
  const archive = await response.text();
  if (!response.ok) throw new Error(archive);
  const opened = (workshop = openWorkshop(archive));
  // The next document starts when one of the two that run has ended.
  const workers = Array.from({ length: MAX_AT_ONCE }, () => Promise.resolve());
  for (const [index, document] of documents.entries()) {
    const run = (workers[index % MAX_AT_ONCE] ?? Promise.resolve()).then(() => runDocument(document, opened));
    runs.set(document.file, run);
    workers[index % MAX_AT_ONCE] = run.then(
      () => undefined,
      () => undefined,
    );
  }
}, 300_000);

afterAll(() => workshop?.close());

test.runIf(isHere).for(documents.map(({ file }) => file))(
  "%s does what it says",
  { timeout: 300_000 },
  async (file, { skip }) => {
    const { problems, skipped } = (await runs.get(file)) ?? {};
    skip(skipped !== undefined, skipped);
    expect(problems?.map(({ line, message, details }) => `${file}:${line} ${message}\n${details}`)).toEqual([]);
  },
);
