import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { createFakeClock } from "../testing/fake-clock.ts";
import { openStore } from "./store.ts";

test("stored outputs are there after a restart, and deleted a week later", async () => {
  const folder = temporaryFolder("haft-artifacts-");
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
