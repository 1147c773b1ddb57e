import { expect, test } from "vitest";
import { createTool } from "../core/create-tool.ts";
import type { ToolContext } from "../core/tool.ts";
import { createHaft } from "../runtime.ts";
import { createFakeClock } from "../testing/fake-clock.ts";

function open() {
  const clock = createFakeClock();
  let context: ToolContext | undefined;
  const tool = createTool({
    name: "subject",
    description: "",
    kind: "readonly",
    parameters: [],
    limits: { timeoutMs: 1000 },
    run: (_input: never, given: ToolContext) => ((context = given), new Promise(() => {})),
  });
  const haft = createHaft({ clock, tools: [tool] });
  let answer: unknown;
  void haft.execute("subject").then((result) => (answer = result));
  return { clock, running: () => context!, answer: () => answer };
}

test("the time limit pauses while a person is asked, and continues afterwards", async () => {
  const { clock, running, answer } = open();
  await clock.advance(600);
  const goOn = running().pauseTimeLimit();
  await clock.advance(3_600_000);
  expect(answer()).toBeUndefined();
  goOn();
  goOn();
  await clock.advance(390);
  expect(answer()).toBeUndefined();
  await clock.advance(20);
  expect(answer()).toMatchObject({ status: "failed", error: { code: "timeout" } });
});

test("the time limit is paused until the last of several questions is answered", async () => {
  const { clock, running, answer } = open();
  await clock.advance(10);
  const goOn = [running().pauseTimeLimit(), running().pauseTimeLimit()];
  goOn[0]!();
  await clock.advance(5000);
  expect(answer()).toBeUndefined();
  goOn[1]!();
  await clock.advance(1000);
  expect(answer()).toMatchObject({ error: { code: "timeout" } });
});
