// Instructions of folders reach an MCP client of a host, as instructions only after a person has trusted the folder.
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openHaft } from "haft/host";
import { expect, onTestFinished, test } from "vitest";
import { trust, trustStatus } from "../../src/config/trust.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { connectDirectly } from "./serve-haft.ts";

test("an MCP client is given the instructions of the workspace and of folders, as the trust of the folder says", async () => {
  const root = temporaryFolder("haft-mcp-instructions-");
  const [home, folder] = [join(root, "home"), join(root, "work")];
  mkdirSync(home);
  mkdirSync(join(folder, "src"), { recursive: true });
  writeFileSync(join(folder, "AGENTS.md"), "Root rule.");
  writeFileSync(join(folder, "src/AGENTS.md"), "Use tabs.");
  writeFileSync(join(folder, "src/a.ts"), "one\n");
  const readTwice = async (): Promise<string[]> => {
    const host = await openHaft(folder, { home, env: { PATH: process.env["PATH"] ?? "" } });
    onTestFinished(() => host.close());
    const client = await connectDirectly(host.haft);
    const read = async () => JSON.stringify(await client.callTool({ name: "read", arguments: { path: "src/a.ts" } }));
    return [await read(), await read()];
  };
  const [untrusted] = await readTwice();
  expect(untrusted).toMatch(/untrusted mark.*Root rule.*untrusted mark.*Use tabs/s);
  await trust(folder, { home });
  const [trusted, again] = await readTwice();
  expect(trusted).toMatch(/Instructions of the project.*Root rule.*Instructions of the project.*Use tabs/s);
  expect(trusted).not.toContain("<untrusted");
  expect(again).not.toContain("Use tabs");

  // An agent writes one. At the next start nobody has trusted it, also if the person agrees to a part of the configuration.
  const { trustedAt } = await trustStatus(folder, { home });
  await expect
    .poll(() => {
      writeFileSync(join(folder, "src/AGENTS.md"), "By an agent.");
      return statSync(join(folder, "src/AGENTS.md")).ctimeMs;
    })
    .toBeGreaterThan(trustedAt?.getTime() ?? Infinity);
  await trust(folder, { home, digests: ["a part"] });
  const [restarted] = await readTwice();
  expect(restarted).toMatch(/Instructions of the project.*Root rule.*untrusted mark.*By an agent/s);
  const later = await trust(folder, { home });
  expect(later.trustedAt?.getTime()).toBeGreaterThan(trustedAt?.getTime() ?? Infinity);
});
