import { expect, test } from "vitest";
import type { LoadedConfig } from "../config/load-config.ts";
import { openConfinement } from "./confinement.ts";

const configured = (sandbox: LoadedConfig["value"]["sandbox"]) =>
  ({ value: { sandbox, network: {} } }) as Pick<LoadedConfig, "value">;
const missing = () => ({
  tests: [{ profile: "look", engine: "landlock", problem: "this kernel has no Landlock" } as const],
});

test("if it is off, nothing is searched for", async () => {
  const never = () => {
    throw new Error("looked");
  };
  expect((await openConfinement(configured({ mode: "off" }), never)).sandbox).toBe(false);
});

test("if it is required and not available, opening fails and says what to do", async () => {
  const opened = openConfinement(configured({ mode: "required" }), missing);
  await expect(opened).rejects.toThrow(
    /cannot be: this kernel has no Landlock\. Make it work, or set sandbox\.mode to auto/,
  );
});

test("by default the host opens without an engine, and the sandbox knows why", async () => {
  const { sandbox } = await openConfinement(configured({ autoAllow: true }), missing);
  expect(sandbox && sandbox.engines?.()).toEqual(missing());
});

test("the settings reach the sandbox, with a proxy if hosts are allowed", async () => {
  const settings = { autoAllow: true, memoryMb: 2, processes: 3, allowedHosts: ["example.com"] };
  const { sandbox, close } = await openConfinement(configured(settings), missing);
  expect(sandbox).toMatchObject({ autoAllow: true, memoryBytes: 2 * 1024 * 1024, processes: 3 });
  expect(sandbox && sandbox.proxy).toMatchObject({ hosts: ["example.com"] });
  await close();
});
