import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTool } from "../../core/create-tool.ts";
import type { AnyTool } from "../../core/tool.ts";
import { createRuntime } from "../../runtime.ts";
import { describeGrant, type GrantContext } from "./describe-grant.ts";

const caller = { user: "ann", session: "s" };

function sentence(rules: string | string[], context: Partial<GrantContext> & { scope?: "session" | "always" } = {}) {
  const { scope = "session", ...more } = context;
  return describeGrant([rules].flat(), { caller, savedFor: "workspace", isBroader: true, scope, ...more }).sentence;
}

const WHO = "ann (session s) may";
const END = ", without asking, in this session, for 12 hours at most.";

function toolWith(parameters: z.ZodType, more: object = {}): AnyTool {
  return createTool({ name: "post", description: "Posts", parameters, execute: () => "", ...more }) as AnyTool;
}

describe("a rule with conditions", () => {
  const strict = toolWith(z.strictObject({ to: z.string(), body: z.string().optional() }));

  test.each([
    ['post(to=="ann" && nothing else)', 'with to "ann" and nothing else'],
    ['post(to=="ann")', 'with to "ann", whatever its other values are'],
    ['post(to=="ann" && body=="hi")', 'with to "ann", body "hi" and nothing else'],
    ['post(to=="ann" && body.text=="hi")', 'with to "ann", body.text "hi", whatever its other values are'],
    ["post(to==a*)", "with to==a*, whatever its other values are"],
    ["post(n>=0 && n<=5)", "with n 0–5, whatever its other values are"],
    ["post(nothing else)", "with no arguments"],
  ])("%s says which values it leaves open", (rule, what) => {
    expect(sentence(rule, { tool: strict })).toBe(`${WHO} call post ${what}${END}`);
  });

  test("is not complete for a tool that takes further arguments, or for several tools", () => {
    const open = toolWith(z.looseObject({ to: z.string() }));
    for (const context of [{ tool: open }, {}])
      expect(sentence('post(to=="ann")', context)).toContain("whatever its other values are");
    const single = toolWith(z.strictObject({ to: z.string() }));
    expect(sentence('post(to=="ann")', { tool: single })).toContain("and nothing else");
    for (const rule of ['mcp__s__*(to=="ann")', "kind:execute( *)", "group:fs(**)"])
      expect(sentence(rule, { tool: single })).toBe(`${WHO} do everything that these rules allow: ${rule}${END}`);
  });

  test("of which there are several, is shown as it is: each allows its own values", () => {
    const rules = ['post(to=="ann" && nothing else)', 'post(to=="bob" && nothing else)'];
    expect(sentence(rules)).toBe(`${WHO} do everything that these rules allow: ${rules.join(", ")}${END}`);
  });
});

test.each([
  ["deploy(staging)", "call deploy for staging, whatever its other values are"],
  ["deploy", "call deploy with any values"],
  ["Bash", "call Bash with any values"],
  ["Bash(npm test *)", "run npm test * in any folder of the workspace"],
  ["Edit(./a.txt)", "change, replace or delete ./a.txt with any built-in tool or tool of your own"],
  ["fetch_it(domain:a.example)", "send any request to a.example with fetch_it"],
  ["mcp__github", "call every tool that mcp__github stands for, with any values"],
  ["mcp__github__get_*", "call every tool that mcp__github__get_* stands for, with any values"],
  ["mcp__github__get", "call mcp__github__get with any values"],
])("%s allows to: %s", (rule, act) => {
  expect(sentence(rule)).toBe(`${WHO} ${act}${END}`);
});

test("a tool that takes no arguments is called with none", () => {
  expect(sentence("post", { tool: toolWith(z.strictObject({})) })).toContain(
    "may call post with no arguments, without",
  );
});

test.each([
  [
    { caller: { user: "ann" } },
    "ann (calls without a session) may call x with any values, without asking, until Haft ends, for 12 hours at most.",
  ],
  [{ caller: {} }, "anonymous (calls without a session) may call x"],
  [{ scope: "always" as const }, "Every caller in this workspace may call x"],
  [
    { scope: "always" as const, savedFor: "store" as const },
    "Every caller of this store, in all its workspaces and on all machines, may",
  ],
  [{ scope: "always" as const, savedFor: "process" as const }, "Every caller of this process may"],
])("says whom it binds: %j", (context, start) => {
  expect(sentence("x", context).startsWith(start)).toBe(true);
});

test("what is not a rule has no sentence", () => {
  expect(() => sentence("post(")).toThrow(TypeError);
  expect(() => sentence("post(a==)")).toThrow(TypeError);
});

test.each([
  [{}, "Every caller of this process may"],
  [{ saveRule: (): string => "rules" }, "Every caller in this workspace may"],
  [{ saveRule: (): string => "store", savedRulesBind: "store" as const }, "Every caller of this store, in all its"],
])(
  "a question says what the rule would allow, with the tool's own rule as a broader choice",
  async (options, start) => {
    const tool = toolWith(z.strictObject({ to: z.string(), body: z.string() }), {
      needsApproval: true,
      rule: ({ to }: { to: string }) => `to=="${to}"`,
    });
    const haft = createRuntime({ tools: [tool], ...options });
    await haft.execute("post", { to: "ann", body: "hi" });
    const [asked] = await haft.approvals.list("pending");
    const always = asked!.grants!.filter(({ scope }) => scope === "always");
    expect(always[0]!.sentence).toContain('with to "ann", body "hi" and nothing else, without asking');
    expect(always[1]).toMatchObject({ isBroader: true, rules: ['post(to=="ann")'] });
    expect(always[1]!.sentence).toContain('with to "ann", whatever its other values are, without asking');
    for (const { sentence: text } of always) expect(text.startsWith(start)).toBe(true);
    // Another body runs unasked, as the sentence says.
    await haft.approvals.approve(asked!.id, { scope: "session", rule: ['post(to=="ann")'], confirmBroader: true });
    expect(await haft.execute("post", { to: "ann", body: "other" })).toMatchObject({ status: "completed" });
    await haft.shutdown();
  },
);
