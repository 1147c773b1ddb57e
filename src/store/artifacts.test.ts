import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../testing/fake-clock.ts";
import { describeArtifactStore } from "../tools/artifacts/artifact-store.suite.ts";
import { openStore } from "./store.ts";
import { startPostgres, type TestPostgres } from "./start-postgres.fixture.ts";

let server: TestPostgres;
beforeAll(async () => void (server = await startPostgres()), 60_000);
afterAll(() => server.stop());

async function open(kind: "sqlite" | "postgres") {
  const folder = mkdtempSync(join(tmpdir(), "haft-artifacts-"));
  const store = await openStore(kind === "sqlite" ? { stateFolder: folder } : { url: await server.createDatabase() });
  onTestFinished(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return store.artifacts;
}

for (const kind of ["sqlite", "postgres"] as const) describeArtifactStore(kind, () => open(kind));

test("kept outputs are there after a restart, and gone a week later", async () => {
  const folder = mkdtempSync(join(tmpdir(), "haft-artifacts-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const clock = createFakeClock();
  const now = clock.now();
  const output = {
    ...{ session: "", id: "output-1", title: "Output", contentType: "text/plain", origin: "output" as const },
    ...{ version: 1, createdAt: now, updatedAt: now },
  };
  const first = { version: 1, type: "create" as const, author: {}, at: now, characters: 4, content: "long" };
  const opened = await openStore({ stateFolder: folder }, { clock });
  await opened.artifacts.create(output, first);
  await opened.close();
  const again = await openStore({ stateFolder: folder }, { clock });
  expect(await again.artifacts.read(output, 1)).toEqual(first);
  await again.close();
  await clock.advance(8 * 24 * 60 * 60_000);
  const later = await openStore({ stateFolder: folder }, { clock });
  expect(await later.artifacts.find(output)).toBeUndefined();
  await later.close();
});
