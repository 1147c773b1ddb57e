// What a client of `haft mcp` pays for the default tools.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { openHaft } from "haft/host";
import { expect, onTestFinished, test } from "vitest";
import { ServedTools } from "../../src/mcp/server/listed-tools.ts";
import { shownToClients } from "../../src/server/mcp-endpoint.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

test("the default tools of haft mcp cost at most 4,000 tokens", async () => {
  const root = temporaryFolder("haft-size-");
  mkdirSync(join(root, "work"));
  const host = await openHaft(join(root, "work"), { home: root, env: {} });
  onTestFinished(() => host.close());
  const served = new ServedTools(host.haft, { describe: () => [], shows: shownToClients({}) });
  const listed = await served.listFor({}, "claude-code");
  // What a client gives to its model.
  const shown = listed.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  expect(shown.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["apply_patch", "edit", "exec", "grep", "read", "todo"]),
  );
  expect(countTokens(JSON.stringify(shown))).toBeLessThanOrEqual(4000);
});
