// Tools of other systems come in with their safety. Each is made by the system's own package.
import { tool as langChainTool } from "@langchain/core/tools";
import { tool as openAIAgentsTool } from "@openai/agents-core";
import { toolDefinition } from "@tanstack/ai";
import { tool as aiSDKTool } from "ai";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { adopt, type ForeignTool } from "../../src/core/adopt/adopt.ts";
import { createTestHaft } from "../../src/testing/test-haft.ts";
import { importFramework, isWanted } from "./on-demand.ts";
import { versionOf } from "./versions.ts";

type Pay = (input: { to: string }) => unknown;
type Loose = (...given: unknown[]) => ForeignTool;

interface System {
  name: string;
  /** The package with the version. */
  package: string;
  /** The folder in `frameworks/`, if it is installed on demand. */
  folder?: string;
  /** Makes the tool "pay", which must ask if the system has a setting for that. */
  make(pay: Pay): ForeignTool | Promise<ForeignTool>;
}

const description = "Pays a person";
const inputSchema = z.object({ to: z.string() });

const SYSTEMS: readonly System[] = [
  {
    name: "AI SDK",
    package: "ai",
    make: (execute) => aiSDKTool({ description, inputSchema, needsApproval: true, execute }),
  },
  {
    name: "LangChain",
    package: "@langchain/core",
    make: (pay) => langChainTool(pay, { name: "pay", description, schema: inputSchema }),
  },
  {
    name: "OpenAI Agents",
    package: "@openai/agents-core",
    make: (execute) =>
      openAIAgentsTool({ name: "pay", description, parameters: inputSchema, needsApproval: true, execute }),
  },
  {
    name: "TanStack AI",
    package: "@tanstack/ai",
    make: (execute) =>
      toolDefinition({ name: "pay", description, inputSchema, needsApproval: true }).server(execute as never),
  },
  {
    name: "Mastra",
    package: "@mastra/core",
    folder: "mastra",
    async make(execute) {
      const { createTool } = await importFramework<{ createTool: Loose }>("mastra");
      return createTool({ id: "pay", description, inputSchema, requireApproval: true, execute });
    },
  },
  {
    name: "Claude Agent SDK",
    package: "@anthropic-ai/claude-agent-sdk",
    folder: "claude-agent-sdk",
    async make(pay) {
      const { tool } = await importFramework<{ tool: Loose }>("claude-agent-sdk");
      const handler = async (input: { to: string }) => ({ content: [{ type: "text", text: String(pay(input)) }] });
      return tool("pay", description, { to: z.string() }, handler, { annotations: { destructiveHint: true } });
    },
  },
  {
    name: "Genkit",
    package: "@genkit-ai/ai",
    folder: "genkit",
    async make(pay) {
      const genkit = await importFramework<{ tool: Loose; z: typeof z }>("genkit");
      const schema = genkit.z.object({ to: genkit.z.string() });
      return genkit.tool({ name: "pay", description, inputSchema: schema }, async (input: { to: string }) =>
        pay(input),
      );
    },
  },
  {
    name: "LlamaIndex",
    package: "@llamaindex/core",
    folder: "llamaindex",
    async make(pay) {
      const { tool } = await importFramework<{ tool: Loose }>("llamaindex");
      return tool(pay, { name: "pay", description, parameters: inputSchema });
    },
  },
  {
    name: "Google ADK",
    package: "@google/adk",
    folder: "google-adk",
    async make(execute) {
      const { FunctionTool } = await importFramework<{ FunctionTool: new (fields: object) => ForeignTool }>(
        "google-adk",
      );
      return new FunctionTool({
        name: "pay",
        description,
        parameters: inputSchema,
        requireConfirmation: true,
        execute,
      });
    },
  },
];

describe.each(SYSTEMS)("a tool of $name", ({ name, package: packageName, folder, make }) => {
  test.runIf(folder === undefined || isWanted(folder))(
    "is taken in with its schema and its approval",
    async ({ task }) => {
      const version = versionOf(packageName, folder && `.runtimes/adoption/${folder}`);
      Object.assign(task.meta, { adoption: { framework: name, version, row: "in" } });
      const paid: string[] = [];
      const foreign = await make(({ to }) => {
        paid.push(to);
        return `paid ${to}`;
      });
      const haft = createTestHaft();
      haft.register(adopt(foreign, { name: "pay" }));
      expect(haft.tools.registry.get("pay")).toMatchObject({ isReadOnly: false });
      expect(await haft.execute("pay", { to: 7 })).toMatchObject({
        status: "failed",
        error: { code: "invalid_input" },
      });

      const first = await haft.execute("pay", { to: "ada" });
      // Also tools of systems without a setting for it: nobody said what they do.
      if (first.status !== "pending") throw new Error(`It ran unasked: ${first.status}.`);
      expect(paid).toEqual([]);
      const result = await haft.approvals.approve(first.pending.id, "grace");
      expect(JSON.stringify(result.content)).toContain("paid ada");
      expect(paid).toEqual(["ada"]);
      await haft.shutdown();
    },
  );
});
