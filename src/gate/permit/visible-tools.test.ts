import { describe, expect, test } from "vitest";
import { createTool } from "../../core/create-tool.ts";
import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import type { ToolPolicy } from "./tool-policy.ts";

const tool = (name: string, kind: "readonly" | "write" | "execute" = "execute") =>
  createTool({ name, description: `Can ${name}`, kind, parameters: [], needsApproval: false, run: () => name });

const start = (policy?: ToolPolicy | ToolPolicy[]) =>
  createHaft({
    ...(policy ? { policy } : {}),
    tools: [tool("read", "readonly"), tool("write", "write"), tool("deploy")],
  });

describe("a tool that policy hides", () => {
  test("is not listed, not found and not shown to a model", () => {
    const haft = start([{ allow: ["read", "write"] }, { deny: ["write"] }]);
    expect(haft.tools.list().map(({ name }) => name)).toEqual(["read"]);
    expect(haft.tools.definitions().map(({ name }) => name)).toEqual(["read"]);
    expect(haft.tools.search("can deploy write read").map(({ name }) => name)).toEqual(["read"]);
    expect(haft.tools.registry.list()).toHaveLength(3);
  });

  test("does not run, and the message tells the model not to try again", async () => {
    const haft = start({ deny: ["deploy"] });
    const result = await haft.execute("deploy");
    expect(result).toMatchObject({
      status: "failed",
      error: { code: "denied", actor: "policy", name: "ToolPermissionError" },
    });
    expect(textOf(result.content)).toMatch(/^Permission denied: .*denies it by "deploy".*Do not call it again/s);
    expect(await haft.calls.log.recent()).toMatchObject([
      { toolName: "deploy", status: "failed", errorCode: "denied" },
    ]);
  });

  test("is not suggested for a similar name", async () => {
    const haft = start({ deny: ["deploy"] });
    for (const name of ["deplo", "something else entirely"]) {
      expect(textOf((await haft.execute(name)).content)).not.toContain("deploy");
    }
  });
});

describe("a call's own policy", () => {
  test("narrows the runtime's, and never widens it", async () => {
    const haft = start({ deny: ["deploy"] });
    expect(await haft.execute("write", {}, { policy: { allow: ["read"] } })).toMatchObject({
      error: { code: "denied" },
    });
    expect(await haft.execute("read", {}, { policy: { deny: ["group:fs"] } })).toMatchObject({
      error: { code: "denied" },
    });
    expect(await haft.execute("deploy", {}, { policy: { allow: ["deploy"] } })).toMatchObject({
      error: { code: "denied" },
    });
    expect(await haft.execute("read", {}, { policy: { allow: ["read"] } })).toMatchObject({ status: "completed" });
    const both = [{ allow: ["read", "write"] }, { deny: ["write"] }];
    expect(await haft.execute("read", {}, { policy: both })).toMatchObject({ status: "completed" });
    expect(await haft.execute("write", {}, { policy: both })).toMatchObject({
      error: { code: "denied", message: expect.stringContaining('the policy of this call denies it by "write"') },
    });
  });
});

describe("plan mode", () => {
  test("shows and runs read-only tools", async () => {
    const haft = start();
    expect(haft.tools.list({ mode: "plan" }).map(({ name }) => name)).toEqual(["read"]);
    expect(haft.tools.definitions({ mode: "plan" }).map(({ name }) => name)).toEqual(["read"]);
    expect(await haft.execute("read", {}, { mode: "plan" })).toMatchObject({ status: "completed" });
    for (const name of ["write", "deploy"]) {
      expect(await haft.execute(name, {}, { mode: "plan" })).toMatchObject({
        error: { code: "plan_mode", message: expect.stringContaining("plan mode") },
      });
    }
  });

  test("also hides what the policy hides", () => {
    expect(start({ deny: ["read"] }).tools.definitions({ mode: "plan" })).toEqual([]);
  });
});
