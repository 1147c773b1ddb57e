import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import type { HaftOptions } from "../../runtime.ts";
import { createTestHaft } from "../../testing/index.ts";

const SERVICES = ["github", "jira", "slack", "stripe", "notion"];
const THINGS = ["issue", "invoice", "message", "page", "customer", "release"];
const parameters = {
  type: "object",
  properties: {
    title: { type: "string", description: "What it is called, in the words of whoever asked for it" },
    description: { type: "string", description: "What it is about" },
  },
  additionalProperties: false,
} as const;

const tools = SERVICES.flatMap((service) =>
  THINGS.flatMap((thing) =>
    ["create", "delete"].map((verb) => ({
      name: `${service}_${verb}_${thing}`,
      description: `${verb} a ${thing} in ${service}.\nMore about it that only a whole definition tells.`,
      kind: verb === "create" ? ("readonly" as const) : ("write" as const),
      origin: { type: "mcp" as const, server: service },
      parameters,
      needsApproval: false,
      run: () => "done",
    })),
  ),
);

const open = (options: HaftOptions = {}) => createTestHaft({ tools, toolSearch: { budget: 1000 }, ...options });
const names = (shown: readonly { name: string }[]): string[] => shown.map(({ name }) => name);

describe("tool_search", () => {
  test("is shown with the tools that fit, and then shows what it found after them", async () => {
    const haft = open();
    const caller = { session: "a" };
    const first = names(haft.tools.definitions({ caller }));
    expect(first).toEqual([...tools.slice(0, first.length - 1).map(({ name }) => name), "tool_search"]);
    const result = await haft.execute("tool_search", { query: "open a page on Notion", limit: 2 }, { caller });
    expect(textOf(result.content)).toMatch(
      /^2 tools were loaded.*\n- notion_create_page: create a page in notion\.…\n/,
    );
    const second = names(haft.tools.definitions({ caller }));
    expect(second.slice(0, first.length)).toEqual(first);
    expect(second.slice(first.length)).toContain("notion_create_page");
  });

  test("advises one search for each step", () => {
    const shown = open()
      .tools.definitions()
      .find(({ name }) => name === "tool_search");
    expect(shown?.description).toContain("Search once for each step of your task");
  });

  test("loads for one conversation only", async () => {
    const haft = open();
    await haft.execute("tool_search", { query: "select:jira_create_page" }, { caller: { session: "a" } });
    expect(names(haft.tools.definitions({ caller: { session: "a" } })).slice(-2)).toEqual([
      "tool_search",
      "jira_create_page",
    ]);
    expect(names(haft.tools.definitions({ caller: { session: "b" } })).at(-1)).toBe("tool_search");
    expect(names(haft.tools.definitions({ caller: { session: "a", user: "bob" } })).at(-1)).toBe("tool_search");
  });

  test("selects by name, and suggests similar names for unknown ones", async () => {
    const result = await open().execute("tool_search", { query: "select: slack_create_message, slack_create_mesage" });
    expect(result.metadata["loadedTools"]).toEqual(["slack_create_message"]);
    expect(textOf(result.content)).toMatch(/no tool "slack_create_mesage"\. Did you mean slack_create_message/);
  });

  test("returns the parameters with a detailed response", async () => {
    const haft = open();
    const find = async (response: string) =>
      textOf((await haft.execute("tool_search", { query: "select:slack_create_page", response })).content);
    expect(await find("detailed")).toContain('"title":{"type":"string"');
    expect(await find("concise")).not.toContain("title");
  });

  test("finds nothing that policy hides, a rule denies, a plan forbids or a toolkit lacks", async () => {
    const policy = { deny: ["github_*"] };
    const haft = open({ policy, rules: { deny: ["jira_create_issue"] } });
    const find = async (options: object, query = "create an issue") =>
      (await haft.execute("tool_search", { query, limit: 20 }, options)).metadata["loadedTools"] as string[];
    const found = await find({});
    expect(found).toContain("slack_create_issue");
    expect(found.filter((name) => name.startsWith("github_") || name === "jira_create_issue")).toEqual([]);
    expect(await find({}, "select:github_create_issue,jira_create_issue")).toEqual([]);
    expect((await find({ mode: "plan" }, "delete an issue")).filter((name) => name.includes("delete"))).toEqual([]);
    expect(await find({ policy: { allow: ["tool_search", "stripe_create_issue"] } })).toEqual(["stripe_create_issue"]);
    const toolkit = haft.tools.toolkit("clerk", ["tool_search", "notion_create_page"]);
    const own = await toolkit.execute("tool_search", { query: "create", limit: 20 });
    expect(own.metadata["loadedTools"]).toEqual(["notion_create_page"]);
  });

  test("loads nothing if nothing matches", async () => {
    const haft = open();
    const result = await haft.execute("tool_search", { query: "xylophone" });
    expect(result).toMatchObject({ success: true, metadata: { loadedTools: [] } });
    expect(textOf(result.content)).toMatch(/No tool was found\. Try other words/);
  });

  test("does not prevent calls of a tool that is not shown", async () => {
    expect(await open().execute("stripe_create_invoice", {})).toMatchObject({ success: true });
  });
});

describe("the shown tools", () => {
  test("are all tools, without a search, if they fit the budget", () => {
    expect(names(open({ toolSearch: {} }).tools.definitions())).toEqual(tools.map(({ name }) => name));
    expect(names(open().tools.definitions({ budget: 100_000 }))).toHaveLength(tools.length);
  });

  test("never exceed the budget", async () => {
    const haft = open();
    for (const thing of THINGS) await haft.execute("tool_search", { query: thing, limit: 20 });
    const shown = haft.tools.definitions();
    expect(shown.length).toBeGreaterThan(3);
    expect(haft.settings.tokens.count(JSON.stringify(shown))).toBeLessThanOrEqual(1000);
  });

  test("include the user's own or configured tools; the others can be found", () => {
    const own = { name: "greet", description: "Greets", parameters: [], needsApproval: false, run: () => "hi" };
    expect(names(open({ tools: [...tools, own] }).tools.definitions())[0]).toBe("greet");
    const core = ["stripe_create_invoice", "group:mcp:notion"];
    const shown = names(open({ tools: [own, ...tools], toolSearch: { budget: 3000, core } }).tools.definitions());
    expect(shown[0]).toBe("stripe_create_invoice");
    expect(shown.slice(1, 13).every((name) => name.startsWith("notion_"))).toBe(true);
  });

  test("use the budget: at least three quarters of 20,000 tokens, and not more", () => {
    const many = Array.from({ length: 234 }, (_, at) => ({
      ...tools[at % 60]!,
      name: `tool_${at}_${tools[at % 60]!.name}`,
    }));
    const haft = open({ tools: many, toolSearch: true });
    const used = (shown: readonly object[]) => haft.settings.tokens.count(JSON.stringify(shown));
    const budget = Math.round(used(haft.tools.definitions({ budget: 1e9 })) * 0.5);
    expect(used(haft.tools.definitions({ budget }))).toBeGreaterThan(budget * 0.75);
    expect(used(haft.tools.definitions({ budget }))).toBeLessThanOrEqual(budget);
  });

  test("are those that were used here first, then the first ones, and stay the same in a conversation", async () => {
    const haft = open();
    const caller = { user: "ada", session: "a" };
    const before = names(haft.tools.definitions({ caller }));
    expect(before).not.toContain("notion_delete_release");
    for (let time = 0; time < 3; time++) await haft.execute("notion_create_release", {}, { caller });
    await haft.execute("notion_create_customer", {}, { caller });
    expect(names(haft.tools.definitions({ caller }))).toEqual(before);
    const next = names(haft.tools.definitions({ caller: { user: "ada", session: "b" } }));
    expect(next).toHaveLength(before.length);
    // In the order of registration, so the set and not its ranking decides what providers can cache.
    expect(next.slice(-3)).toEqual(["notion_create_customer", "notion_create_release", "tool_search"]);
    expect(names(haft.tools.definitions({ caller: { user: "bob", session: "b" } }))).toEqual(before);
  });

  test("stay the same while an asynchronous store is read, and are the used ones if it was awaited", async () => {
    const rows = [{ tool: "notion_create_release", questions: [], uses: 3, lastUsedAt: Date.now() }];
    const store = { load: () => Promise.resolve(rows), add: () => undefined, forget: () => 0 };
    const haft = open({ toolSearch: { budget: 1000, store } });
    const show = (session: string) => names(haft.tools.definitions({ caller: { user: "ada", session } }));
    const first = show("a");
    await haft.tools.readUse({ user: "ada" });
    expect(show("a")).toEqual(first);
    expect(first).not.toContain("notion_create_release");
    expect(show("b")).toContain("notion_create_release");
  });

  test("are chosen again for another mode", () => {
    const haft = open({ tools: tools.toReversed() });
    const caller = { session: "a" };
    const inPlan = names(haft.tools.definitions({ caller, mode: "plan" }));
    expect(inPlan.some((name) => name.includes("delete"))).toBe(false);
    expect(names(haft.tools.definitions({ caller })).some((name) => name.includes("delete"))).toBe(true);
    expect(names(haft.tools.definitions({ caller, mode: "plan" }))).toEqual(inPlan);
  });

  test("are followed by further ones if a server replaces its tools", () => {
    const haft = open({ toolSearch: { budget: 1000, core: [] } });
    const caller = { session: "a" };
    const first = names(haft.tools.definitions({ caller }));
    const [gone = "", ...kept] = first.slice(0, -1);
    haft.tools.registry.unregister(gone);
    const second = names(haft.tools.definitions({ caller }));
    expect(second.slice(0, kept.length)).toEqual(kept);
    expect(second).toHaveLength(first.length);
    expect(names(haft.tools.definitions({ caller }))).toEqual(second);
    for (const name of second.slice(0, -1)) haft.tools.registry.unregister(name);
    expect(names(haft.tools.definitions({ caller }))).toHaveLength(first.length);
  });

  test("are those that match how the conversation began", () => {
    const about = "Send our customer on stripe a new invoice";
    const shown = names(open().tools.definitions({ caller: { session: "a" }, about }));
    expect(shown).toContain("stripe_create_invoice");
    expect(names(open().tools.definitions({ caller: { session: "a" }, about }))).toEqual(shown);
  });

  test("are all if the search is turned off", () => {
    for (const toolSearch of [false, { enabled: false }, { enabled: false, budget: 10 }]) {
      expect(names(open({ toolSearch }).tools.definitions())).toEqual(tools.map(({ name }) => name));
    }
    const refused = (toolSearch: unknown) => () => open({ toolSearch: toolSearch as never });
    expect(refused({ enabeld: false })).toThrow(/enabeld.*enabled/s);
    expect(refused({ enabled: "no" })).toThrow(/`toolSearch.enabled` of createHaft must be true or false/);
    expect(refused({ learnFrom: "all" })).toThrow(/one of "searches", "messages", "nothing"/);
  });

  test("can be compact: one line and the bare input schema", () => {
    const [first] = open({ toolSearch: {} }).tools.definitions({ style: "compact" });
    expect(first).toEqual({
      name: "github_create_issue",
      description: "create a issue in github.…",
      // A parameter named "description" is not an annotation.
      parameters: {
        type: "object",
        properties: { title: { type: "string" }, description: { type: "string" } },
        additionalProperties: false,
      },
    });
  });

  test("cannot have a budget without a search", () => {
    expect(() => createTestHaft({ tools }).tools.definitions({ budget: 10 })).toThrow(/needs `toolSearch`/);
    expect(createTestHaft({ tools }).tools.definitions()).toHaveLength(tools.length);
  });
});
