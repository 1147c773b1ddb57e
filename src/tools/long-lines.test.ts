import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../test/setup/temporary-folder.ts";
import { textOf } from "../core/content.ts";
import { createHaft } from "../runtime.ts";
import { openWorkspace } from "../workspace.ts";
import { createDataTools } from "./tool-families.ts";

const folder = temporaryFolder("haft-long-lines-");
const rows = Array.from({ length: 40_000 }, (_, id) => ({ id, name: `row ${id}` }));
writeFileSync(join(folder, "rows.json"), JSON.stringify({ rows }));

/** The call that a text names, as `read {"path":"a"}`. */
function namedCall(text: string, tool: string): Record<string, unknown> {
  const json = new RegExp(`${tool} (\\{[^}]*\\})`).exec(text)?.[1];
  return JSON.parse(json ?? "null") as Record<string, unknown>;
}

test("a match in a long line names a read that shows it", async () => {
  const haft = createHaft({ tools: openWorkspace(folder).tools, folder });
  const found = textOf((await haft.execute("grep", { pattern: 'row 31415"' })).content);
  const { content } = await haft.execute("read", namedCall(found, "read"));
  expect(textOf(content)).toContain("row 31415");
});

test("a long line of JSON names json_parse, if there is one", async () => {
  const { tools } = openWorkspace(folder);
  const data = createDataTools().filter((tool) => !tools.some(({ name }) => name === tool.name));
  const withParser = createHaft({ tools: [...tools, ...data], folder });
  const read = textOf((await withParser.execute("read", { path: "rows.json" })).content);
  const parsed = await withParser.execute("json_parse", {
    ...namedCall(read, "json_parse"),
    query: "rows[31415].name",
  });
  expect(textOf(parsed.content)).toContain("row 31415");
  const without = createHaft({ tools: tools.filter(({ name }) => name !== "json_parse"), folder });
  expect(textOf((await without.execute("read", { path: "rows.json" })).content)).not.toContain("json_parse");
});
