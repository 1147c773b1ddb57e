import { describe, expect, test } from "vitest";
import { createTool } from "../../core/create-tool.ts";
import type { AnyTool } from "../../core/tool.ts";
import { deferTools, TOOL_SEARCH } from "./tool-search.ts";

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
  test("shows everything where it fits, and then needs no search", () => {
    expect(shown(all, 230)).toEqual({ names: [...core, ...others].map(({ name }) => name), deferred: 0 });
  });

  test("shows the core set, the search, and what was loaded, in the order in which it was", () => {
    expect(shown(all, 100, ["t7", "t3"])).toEqual({ names: ["c1", "c2", "c3", TOOL_SEARCH, "t7", "t3"], deferred: 18 });
  });

  test("gives the core set half of the budget at most", () => {
    expect(shown(all, 50).names).toEqual(["c1", "c2", TOOL_SEARCH]);
  });

  test("drops what was loaded longest ago where the budget is spent", () => {
    expect(shown(all, 80, ["t1", "t2", "t3", "t4", "t5", "t6"]).names).toEqual([
      ...["c1", "c2", "c3", TOOL_SEARCH],
      ...["t3", "t4", "t5", "t6"],
    ]);
  });

  test("shows what was loaded last whatever it costs", () => {
    expect(shown(all, 10, ["t1", "t2"]).names).toEqual([TOOL_SEARCH, "t2"]);
  });

  test("takes no notice of names that are not there, that come twice, or that are shown anyway", () => {
    expect(shown(all, 100, ["gone", "t1", "c1", "t1"]).names).toEqual(["c1", "c2", "c3", TOOL_SEARCH, "t1"]);
  });

  test("hides nothing from who has no search to find it with", () => {
    expect(shown([...core, ...others], 50)).toMatchObject({ deferred: 0 });
    expect(shown([...core, ...others], 50).names).toHaveLength(23);
  });
});
