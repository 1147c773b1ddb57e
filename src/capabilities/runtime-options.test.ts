import { expect, test } from "vitest";
import { openConfigFolders } from "../config/config-folders.fixture.ts";
import { trust } from "../config/trust.ts";
import { configuredRules } from "./runtime-options.ts";

const USER = "~/.config/haft/config.yml";
const mode = (name: string) => `permissions: { defaultMode: ${name} }`;

test.each([
  ["dontAsk", "default", "dontAsk"],
  ["dontAsk", "plan", "dontAsk"],
  ["plan", "default", "plan"],
  ["acceptEdits", "default", "default"],
  ["default", "dontAsk", "dontAsk"],
  ["default", "bypassPermissions", "default"],
])("the user's mode %s and the folder's own %s, which nobody has trusted, are %s", async (user, project, expected) => {
  const folders = openConfigFolders({ [USER]: mode(user), "haft.config.yml": mode(project) });
  expect(configuredRules(await folders.load()).defaultMode).toBe(expected);
});

test("a looser mode that was trusted counts", async () => {
  const folders = openConfigFolders({ [USER]: mode("default"), "haft.config.yml": mode("acceptEdits") });
  await trust(folders.folder, folders);
  expect(configuredRules(await folders.load()).defaultMode).toBe("acceptEdits");
});

test("where bypassPermissions is disabled a call cannot have it either", async () => {
  const folders = openConfigFolders({ [USER]: "permissions: { disableBypassPermissionsMode: disable }" });
  const rules = configuredRules(await folders.load());
  expect(rules.modeOf("bypassPermissions")).toBe("default");
  expect(rules.modeOf("acceptEdits")).toBe("acceptEdits");
});

test("a condition that cannot be understood is an error with its file and line", async () => {
  const folders = openConfigFolders({
    [USER]: "permissions:\n  deny:\n    - Refund(amount>100)\n    - Refund(amount>>5)\n",
  });
  const config = await folders.load();
  expect(() => configuredRules(config)).toThrow(/:4:\d+ permissions\.deny: .*"amount>>5" cannot be understood/);
});

test("a folder's defaultPermission auto needs trust, and confirm does not", async () => {
  const folders = openConfigFolders({ "haft.config.yml": "permissions: { defaultPermission: auto }" });
  const before = await folders.load();
  expect(configuredRules(before).defaultPermission).toBe("confirm");
  expect(before.untrusted).toMatchObject([{ what: "run tools that do not say what they do without asking" }]);
  await trust(folders.folder, folders);
  expect(configuredRules(await folders.load()).defaultPermission).toBe("auto");
  folders.write({
    "~/.config/haft/config.yml": "permissions: { defaultPermission: auto }",
    "haft.config.yml": "permissions: { defaultPermission: confirm }",
  });
  expect(configuredRules(await folders.load()).defaultPermission).toBe("confirm");
});
