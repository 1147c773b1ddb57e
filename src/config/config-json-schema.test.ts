import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { toSchema } from "../schema/json-schema-validator.ts";
import { configJsonSchema } from "./config-schema.ts";

const PUBLISHED = fileURLToPath(new URL("../../docs/haft.config.schema.json", import.meta.url));
const text = `${JSON.stringify(configJsonSchema(), null, 2)}\n`;

test("the published schema is the one that validates (HAFT_UPDATE_SCHEMA=1 rewrites it)", () => {
  if (process.env["HAFT_UPDATE_SCHEMA"]) writeFileSync(PUBLISHED, text);
  expect(readFileSync(PUBLISHED, "utf8")).toBe(text);
});

test("an editor accepts what is accepted, variables included, and underlines what is not", async () => {
  const schema = toSchema(JSON.parse(text) as Record<string, unknown>);
  const isValid = async (value: unknown) => (await schema.validate(value)).issues === undefined;
  expect(
    await isValid({
      $schema: "./haft.config.schema.json",
      tools: { timeout: "${TIMEOUT:-5}", mcpServers: [{ name: "a", url: "http://localhost" }], deny: ["exec"] },
      server: { port: 0 },
      workspace: { unrestricted: "${ALL}" },
      mcpServers: { b: { command: "x", somethingElse: 1 } },
      hooks: { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "http", url: "http://x", onFailure: "block" }] }] },
    }),
  ).toBe(true);
  for (const wrong of [
    { tools: { denny: [] } },
    { tools: { timeout: "5" } },
    { tools: { timeout: 0 } },
    { server: { port: 70_000 } },
    { permissions: { deny: "Bash" } },
    { hooks: { PreToolUse: [{ hooks: [{ type: "command" }] }] } },
    { tool: {} },
  ]) {
    expect(await isValid(wrong), JSON.stringify(wrong)).toBe(false);
  }
});
