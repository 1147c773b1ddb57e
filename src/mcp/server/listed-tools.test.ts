import { expect, test } from "vitest";
import { createTool } from "../../core/create-tool.ts";
import { createHaft } from "../../runtime.ts";
import { ServedTools } from "./listed-tools.ts";

function serve(...names: string[]): ServedTools {
  const tools = names.map((name) =>
    createTool({ name, description: "A tool", parameters: [], needsApproval: false, run: () => "" }),
  );
  return new ServedTools(createHaft({ tools }), { describe: () => [], shows: ({ name }) => names.includes(name) });
}

const shownNames = (tools: ServedTools): string[] => tools.definitions().map(({ name }) => name);

test.each(["read", "read_file", "mcp__github__create-issue", "a".repeat(40)])("%s keeps its name", (name) => {
  expect(shownNames(serve(name))).toEqual([name]);
});

test.each(["mcp__a-server-with-a-name__and-a-tool-with-another", "files.read", "a:b", "a".repeat(41)])(
  "%s gets a name of at most 40 portable characters, always the same",
  (name) => {
    const tools = serve(name);
    const [shown = ""] = shownNames(tools);
    expect(shown).toMatch(/^[A-Za-z0-9_-]{1,40}$/);
    expect(tools.nameOf(shown)).toBe(name);
    expect(shownNames(serve(name))).toEqual([shown]);
  },
);

test("similar names stay different", () => {
  expect(new Set(shownNames(serve("files.read", "files/read"))).size).toBe(2);
});

test("client tools of a user are neither listed nor found, because all clients share the list", () => {
  const clientTool = (name: string, user?: string) =>
    createTool({
      ...{ name, description: "A tool", parameters: [], needsApproval: false, run: () => "" },
      origin: { type: "client", client: "page", user },
    });
  const haft = createHaft({ tools: [clientTool("of_all"), clientTool("of_ann", "ann")] });
  const tools = new ServedTools(haft, { describe: () => [] });
  expect(shownNames(tools)).toContain("of_all");
  expect(shownNames(tools)).not.toContain("of_ann");
  expect([tools.find("of_all")?.name, tools.find("of_ann")]).toEqual(["of_all", undefined]);
});
