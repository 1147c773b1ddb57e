import { describe, expect, test } from "vitest";
import { createTool } from "../../core/create-tool.ts";
import { AgentToolkit } from "../../core/toolkit.ts";
import { createPolicyLayers, type LayersRequest, type PolicyConfig } from "./policy-layers.ts";
import { explainVisibility, isVisible } from "./visible-tools.ts";

const tool = (name: string) =>
  createTool({ name, origin: { type: "builtin" }, description: "", parameters: [], run: () => 1 });
const NAMES = ["read", "write", "exec", "message", "web_fetch", "cron", "session_status"];
const tools = NAMES.map(tool);

function shown(config: PolicyConfig, request?: LayersRequest): string[] {
  const layers = createPolicyLayers(config)(request);
  return tools.filter((one) => isVisible(one, layers)).map(({ name }) => name);
}

describe("the layers of a policy", () => {
  test("are empty for an empty policy", () => {
    expect(createPolicyLayers({})()).toEqual([]);
    expect(shown({})).toEqual(NAMES);
  });

  test("narrow a profile, also the user's own", () => {
    expect(shown({ profile: "messaging" })).toEqual(["message", "session_status"]);
    expect(shown({ profile: "mine", profiles: { mine: ["group:web", "re*"] }, alsoAllow: ["cron"] })).toEqual([
      "read",
      "web_fetch",
      "cron",
    ]);
    expect(shown({ profile: "mine", profiles: { mine: ["read", "cron"] }, deny: ["group:automation"] })).toEqual([
      "read",
    ]);
    expect(() => createPolicyLayers({ profiles: { full: ["read"] } })).toThrow(/is built in/);
    expect(() => shown({ profile: "minee", profiles: { mine: [] } })).toThrow('Did you mean "mine"');
  });

  test("differ by provider and by model", () => {
    const config: PolicyConfig = {
      byProvider: { OpenAI: { deny: ["exec"] }, "openai/gpt-mini": { allow: ["read", "exec"] } },
    };
    expect(shown(config, { model: "anthropic/x" })).toEqual(NAMES);
    expect(shown(config, { model: "openai" })).not.toContain("exec");
    expect(shown(config, { caller: { model: "openai/gpt-big" } })).toContain("write");
    expect(shown(config, { caller: { model: "openai/GPT-mini" } })).toEqual(["read"]);
  });

  test("differ by agent and in a sandbox, also with the user's own profiles", () => {
    const config: PolicyConfig = {
      profiles: { reader: ["read"] },
      agents: { scout: { profile: "reader" } },
      sandbox: { deny: ["message"] },
    };
    expect(shown(config, { caller: { agent: "scout" } })).toEqual(["read"]);
    expect(shown(config, { caller: { agent: "constructor" } })).toEqual(NAMES);
    expect(shown(config, { sandbox: true })).not.toContain("message");
    expect(shown(config, { caller: { sandboxed: true } })).not.toContain("message");
  });

  test("differ by the depth of a subagent, and apply from that depth on", () => {
    const config: PolicyConfig = { subagents: { deny: ["cron"], byDepth: { 1: {}, 2: { deny: ["exec"] } } } };
    const at = (depth: number) => shown(config, { caller: { depth } });
    expect(at(0)).toEqual(NAMES);
    expect(at(1)).toEqual(NAMES.filter((name) => name !== "cron"));
    expect(at(2)).toEqual(NAMES.filter((name) => name !== "cron" && name !== "exec"));
    expect(at(9)).toEqual(at(2));
    expect(() => createPolicyLayers({ subagents: { byDepth: { 0: {} } } })).toThrow(/not a depth/);
  });
});

describe("a subagent", () => {
  const config: PolicyConfig = {
    agents: { lead: { deny: ["exec"] }, helper: { allow: ["exec", "read", "write"] } },
    byProvider: { small: { deny: ["write"] } },
    subagents: { deny: ["cron"] },
  };

  test("never has more than its parents, even if its own layer allows more", () => {
    const lead = { agent: "lead", depth: 0, model: "small/one" };
    const helper = { agent: "helper", depth: 1, parent: lead };
    expect(shown(config, { caller: { agent: "helper", depth: 1 } })).toEqual(["read", "write", "exec"]);
    expect(shown(config, { caller: helper })).toEqual(["read"]);
    expect(shown(config, { caller: { agent: "other", depth: 2, parent: helper } })).toEqual(["read"]);
  });

  test("is recognized by its parent, even without a depth", () => {
    expect(shown(config, { caller: { parent: { depth: 0 } } })).not.toContain("cron");
  });

  test("is limited to its parent's layers and toolkit if these are given", () => {
    const layersFor = createPolicyLayers(config);
    const toolkit = new AgentToolkit("lead");
    for (const tool of tools.filter(({ name }) => ["read", "exec"].includes(name))) toolkit.add(tool);
    const ofParent = { name: "the toolkit of its parent", policy: {}, scope: toolkit };
    const parent = [...layersFor({ caller: { agent: "lead" } }), ofParent];
    const layers = layersFor({ caller: { agent: "helper", depth: 1 }, parent });
    expect(tools.filter((one) => isVisible(one, layers)).map(({ name }) => name)).toEqual(["read"]);
    expect(explainVisibility(tools[1]!, layers).layers.find(({ allowed }) => !allowed)).toMatchObject({
      layer: "the toolkit of its parent",
      list: "toolkit",
    });
  });

  test("with an endless chain of parents still gets a decision", () => {
    const endless: { depth: number; agent: string; parent?: object } = { depth: 0, agent: "lead" };
    endless.parent = endless;
    expect(shown(config, { caller: endless as never })).not.toContain("exec");
  });
});

describe("an explanation", () => {
  test("gives every layer's decision, and which entry denied", () => {
    const layers = createPolicyLayers({
      profile: "coding",
      deny: ["group:runtime"],
      agents: { a: { allow: ["read"] } },
      subagents: {},
    })({ caller: { agent: "a" } });
    expect(explainVisibility(tools[2]!, layers)).toEqual({
      allowed: false,
      layers: [
        { layer: "the profile layer", allowed: true, reason: "the profile layer allows it" },
        {
          layer: "the global layer",
          allowed: false,
          list: "deny",
          entry: "group:runtime",
          reason: 'the global layer denies it by "group:runtime"',
        },
        { layer: 'agent "a"', allowed: false, list: "allow", reason: 'agent "a" does not list it under allow' },
      ],
    });
    expect(explainVisibility(tools[0]!, layers).allowed).toBe(true);
  });
});
