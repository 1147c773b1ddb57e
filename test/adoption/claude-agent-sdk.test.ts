import { describe, expect, test } from "vitest";
import { toClaudeAgentTools } from "../../src/models/frameworks/claude-agent-sdk.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { until } from "../setup/until.ts";
import { type ClaudeExports, offline, openRig, serveModel } from "./claude-agent-sdk.rig.ts";
import { describeFramework } from "./framework.suite.ts";
import { importFramework, isWanted } from "./on-demand.ts";
import { versionOf } from "./versions.ts";
import { openWorld } from "./world.ts";

const NAME = "claude-agent-sdk";

describe.runIf(isWanted(NAME))("installed on demand", () => {
  const version = isWanted(NAME) ? versionOf("@anthropic-ai/claude-agent-sdk", `.runtimes/adoption/${NAME}`) : "";
  describeFramework({
    name: "Claude Agent SDK",
    rig: NAME,
    version,
    openRig,
    cannot: {
      restart: "the SDK asks while its program runs, and keeps no open approval",
      streaming: "the SDK shows a program no partial results of MCP tools",
    },
  });

  test.each([
    ["a rule of the SDK", { allowedTools: ["mcp__haft__pay"] }],
    ["its mode without permissions", { permissionMode: "bypassPermissions", allowDangerouslySkipPermissions: true }],
  ])("%s does not replace an approval, for which a run without canUseTool waits", async (_title, settings) => {
    const { createSdkMcpServer, query } = await importFramework<ClaudeExports>(NAME);
    const { folder, haft, toolkit, payments, close } = await openWorld(temporaryFolder("haft-adoption-"));
    const model = await serveModel();
    model.calls = [{ id: "functions.pay:0", name: "pay", input: { to: "ada" } }];
    const tools = toClaudeAgentTools(toolkit, { createSdkMcpServer });
    const own = { env: { ...offline(folder, model.url), IS_SANDBOX: "1" }, cwd: folder, tools: [], settingSources: [] };
    const messages = query({ prompt: "go", options: { ...tools, ...own, ...settings } });
    const ended = (async () => {
      for await (const { type, result } of messages) if (type === "result") return result;
      return undefined;
    })();
    await until(async () => (await haft.approvals.list("pending")).length === 1);
    expect(payments()).toEqual([]);
    await haft.approvals.approve((await haft.approvals.list("pending"))[0]!.id, "grace");
    expect(await ended).toBe("done");
    expect(payments()).toEqual(["ada"]);
    expect(JSON.stringify(model.lastRequest)).toContain("paid ada");
    await model.close();
    await close();
  });
});
