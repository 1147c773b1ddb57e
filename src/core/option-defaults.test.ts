import { expect, test } from "vitest";
import { createHaft } from "../runtime.ts";
import { withDefaults } from "./options.ts";

test("an option that is undefined keeps its default", () => {
  expect(withDefaults({ a: 1, b: 2 }, { a: undefined, b: 3, c: undefined })).toEqual({ a: 1, b: 3 });
  expect(withDefaults({ a: 1 }, undefined)).toEqual({ a: 1 });
});

test("a limit of undefined still has its default", async () => {
  let running = 0;
  let max = 0;
  const haft = createHaft({ concurrency: { maxConcurrent: undefined } });
  haft.register({
    name: "count",
    description: "Counts what runs at the same time",
    kind: "execute",
    permission: "auto",
    parameters: [],
    async run() {
      max = Math.max(max, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running -= 1;
      return "done";
    },
  } as never);
  await Promise.all(Array.from({ length: 40 }, () => haft.execute("count", {})));
  expect(max).toBeLessThan(40);
  await haft.shutdown();
});
