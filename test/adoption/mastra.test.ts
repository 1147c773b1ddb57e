import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { describeFramework } from "./framework.suite.ts";
import { openRig } from "./mastra.rig.ts";
import { isWanted } from "./on-demand.ts";
import { versionOf } from "./versions.ts";
import { openWorld } from "./world.ts";

describe.runIf(isWanted("mastra"))("installed on demand", () => {
  const version = isWanted("mastra") ? versionOf("@mastra/core", ".runtimes/adoption/mastra") : "";
  const cannot = { "one id, two tools": "the framework takes calls with one id for one call" };
  describeFramework({ name: "Mastra", rig: "mastra", version, openRig, cannot });

  test("two calls that need a person are asked about in turn, and the model gets every outcome", async () => {
    const world = await openWorld(temporaryFolder("haft-adoption-"));
    const rig = await openRig(world);
    const first = await rig.start([
      { id: "functions.save:0", name: "save", input: { text: "hello" } },
      { id: "functions.save:1", name: "save", input: { text: 7 } },
      { id: "functions.fail:0", name: "fail", input: {} },
      { id: "functions.pay:0", name: "pay", input: { to: "ada" } },
      { id: "functions.pay:1", name: "pay", input: { to: "bob" } },
    ]);
    expect(first.asked).toMatchObject([{ callId: "functions.pay:0" }]);
    const second = await rig.answer(first, true);
    expect(second.asked).toMatchObject([{ callId: "functions.pay:1" }]);
    expect((await rig.answer(second, false)).text).toBe("done");
    expect(world.payments()).toEqual(["ada"]);
    expect(world.saved).toEqual(["hello"]);
    const prompt = JSON.stringify(rig.prompts.at(-1));
    for (const text of ["saved hello", "Parameter validation failed", "out of paper", "paid ada", "denied this call"]) {
      expect(prompt).toContain(text);
    }
    await rig.close!();
    await world.close();
  });
});
