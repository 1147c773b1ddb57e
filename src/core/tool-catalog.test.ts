import { describe, expect, test } from "vitest";
import { createTool } from "./create-tool.ts";
import { ToolCatalogue } from "./tool-catalog.ts";

const tool = (name: string, more: { aliases?: string[]; origin?: { type: "own" | "builtin" } } = {}) =>
  createTool({ name, description: "d", parameters: [], run: () => name, ...more });

describe("a program's own tool with the name of a built-in tool's alias", () => {
  const exec = tool("exec", { aliases: ["bash", "shell"], origin: { type: "builtin" } });
  const shell = tool("shell");

  test.each([
    ["after it", [exec, shell]],
    ["before it", [shell, exec]],
  ])("has the name, added %s", (_when, tools) => {
    const catalogue = new ToolCatalogue();
    for (const each of tools) catalogue.add(each);
    for (const name of ["shell", "Shell", "SHELL"]) expect(catalogue.get(name)).toBe(shell);
    for (const name of ["exec", "bash", "Bash"]) expect(catalogue.get(name)).toBe(exec);
    catalogue.remove("shell");
    expect(catalogue.get("shell")).toBe(exec);
  });

  test("cannot have the name of the built-in tool itself, nor its alias as a second name", () => {
    const catalogue = new ToolCatalogue();
    catalogue.add(exec);
    expect(() => catalogue.add(tool("exec"))).toThrow("the name belongs to");
    expect(() => catalogue.add(tool("Exec"))).toThrow("Choose another name");
    expect(() => catalogue.add(tool("run", { aliases: ["bash"] }))).toThrow("Choose another name");
  });
});
