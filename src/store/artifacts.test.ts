import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFakeClock } from "../testing/fake-clock.ts";
import { openStore } from "./store.ts";

test("stored outputs are there after a restart, and deleted a week later", async () => {
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
