import { describe, expect, test } from "vitest";
import { createTool } from "../../core/create-tool.ts";
import type { AnyTool } from "../../core/tool.ts";
import { deferTools, TOOL_SEARCH } from "./shown-tools.ts";

const tool = (name: string): AnyTool =>
  createTool({ name, description: name, parameters: [], kind: "readonly", run: () => name });

const search = tool(TOOL_SEARCH);
const core = ["c1", "c2", "c3"].map(tool);
const others = Array.from({ length: 20 }, (_, at) => tool(`t${at}`));
const all = [...core, ...others, search];

/** Every definition costs ten. */
const cost = { of: () => 10, fits: (tools: readonly AnyTool[], budget: number) => tools.length * 10 <= budget };
const shown = (tools: readonly AnyTool[], budget: number, loaded: readonly string[] = []) => {
  const set = deferTools(tools, { budget, isCore: (each) => core.includes(each), loaded, cost });
  return { names: set.tools.map(({ name }) => name), deferred: set.deferred.length };
};

describe("deferTools", () => {
  test("shows everything without a search if it fits", () => {
    expect(shown(all, 230)).toEqual({ names: [...core, ...others].map(({ name }) => name), deferred: 0 });
  });

  test("shows the core tools, the search and the loaded tools in order", () => {
    expect(shown(all, 100, ["t7", "t3"])).toEqual({ names: ["c1", "c2", "c3", TOOL_SEARCH, "t7", "t3"], deferred: 18 });
  });

  test("gives the core tools at most half of the budget", () => {
    expect(shown(all, 50).names).toEqual(["c1", "c2", TOOL_SEARCH]);
  });

  test("drops the tools loaded first if the budget is exceeded", () => {
    expect(shown(all, 80, ["t1", "t2", "t3", "t4", "t5", "t6"]).names).toEqual([
      ...["c1", "c2", "c3", TOOL_SEARCH],
      ...["t3", "t4", "t5", "t6"],
    ]);
  });

  test("always shows the tool loaded last", () => {
    expect(shown(all, 10, ["t1", "t2"]).names).toEqual([TOOL_SEARCH, "t2"]);
  });

  test("ignores unknown, duplicate and already shown names", () => {
    expect(shown(all, 100, ["gone", "t1", "c1", "t1"]).names).toEqual(["c1", "c2", "c3", TOOL_SEARCH, "t1"]);
  });

  test("hides nothing without a search", () => {
    expect(shown([...core, ...others], 50)).toMatchObject({ deferred: 0 });
    expect(shown([...core, ...others], 50).names).toHaveLength(23);
  });
});
