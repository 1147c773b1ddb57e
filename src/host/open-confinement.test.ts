import { expect, test } from "vitest";
import type { LoadedConfig } from "../config/load-config.ts";
import { openConfinement } from "./open-confinement.ts";

const configured = (sandbox: LoadedConfig["value"]["sandbox"]) =>
  ({ value: { sandbox, network: {} } }) as Pick<LoadedConfig, "value">;
const missing = () => ({ why: "bubblewrap is not installed" });

test("switched off, nothing is looked for", async () => {
  const never = () => {
    throw new Error("looked");
  };
  expect((await openConfinement(configured({ mode: "off" }), never)).sandbox).toBeUndefined();
});

test("required and not to be had, nothing starts, and it says what to do", async () => {
  const opened = openConfinement(configured({ mode: "required" }), missing);
  await expect(opened).rejects.toThrow(
    /cannot be: bubblewrap is not installed\. Make it work, or set sandbox\.mode to auto/,
  );
});

test("by itself it goes on without one, and the workspace is told why", async () => {
  const { sandbox } = await openConfinement(configured({ autoAllow: true }), missing);
  expect(sandbox?.find?.()).toEqual({ why: "bubblewrap is not installed" });
});

test("what is configured reaches the sandbox, with a proxy where hosts are allowed", async () => {
  const found = () => ({ program: "/usr/bin/bwrap" });
  const settings = { autoAllow: true, memoryMb: 2, processes: 3, allowedHosts: ["example.com"] };
  const { sandbox, close } = await openConfinement(configured(settings), found);
  expect(sandbox).toMatchObject({ autoAllow: true, memoryBytes: 2 * 1024 * 1024, processes: 3 });
  expect(sandbox?.proxy).toMatchObject({ hosts: ["example.com"] });
  await close();
});
