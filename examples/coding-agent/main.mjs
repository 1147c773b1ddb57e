// A coding agent of the AI SDK whose tools come from `haft mcp`. Edits and commands wait for your approval.
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { dynamicTool, generateText, isStepCount, jsonSchema } from "ai";
import { model } from "./model.mjs";

// The agent works on a copy, so you can start this again.
const work = join(import.meta.dirname, "work");
rmSync(work, { recursive: true, force: true });
cpSync(join(import.meta.dirname, "project"), work, { recursive: true });

// The `haft` of the installed package; after `npm link` the command is just "haft".
const haft = join(dirname(fileURLToPath(import.meta.resolve("haft/package.json"))), "dist/cli/main.js");

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
async function ask(question) {
  console.log(question);
  return (await lines.next()).value ?? "";
}

const indent = (text) => text.replace(/^/gm, "  ");

const client = new Client(
  { name: "coding-agent", version: "1.0.0" },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
);
// Haft asks the client about a call that needs approval. Only a chosen decision approves it.
client.setRequestHandler("elicitation/create", async ({ params }) => {
  console.log(indent(params.message));
  const answer = await ask("  Type y to approve, or a reason to deny:");
  return { action: "accept", content: answer === "y" ? { decision: "once" } : { decision: "deny", reason: answer } };
});
const args = [haft, "mcp", "--folder", work, "--tools", "group:fs,exec"];
// The SDK passes only a few variables to the server by default, and HAFT_STATE_DIR is not among them.
await client.connect(new StdioClientTransport({ command: process.execPath, args, env: process.env }));

// Each MCP tool becomes a tool of the AI SDK.
const { tools } = await client.listTools();
const toolSet = Object.fromEntries(
  tools.map(({ name, description, inputSchema }) => {
    const execute = async (input) => {
      console.log(`> ${name} ${JSON.stringify(input)}`);
      // A person may take long to answer.
      const { content } = await client.callTool({ name, arguments: input }, { timeout: 30 * 60_000 });
      const text = content.map((part) => part.text ?? `(${part.type})`).join("\n");
      console.log(indent(text.split("\n").slice(0, 6).join("\n"))); // the model gets all of it
      return text;
    };
    return [name, dynamicTool({ description, inputSchema: jsonSchema(inputSchema), execute })];
  }),
);
const { text } = await generateText({
  model,
  tools: toolSet,
  stopWhen: isStepCount(20),
  prompt: "The tests of this project fail. Find out why and fix it.",
});
console.log(`agent: ${text}\n`);
await client.close();

if ((await ask("Undo the edit? Type y:")) === "y") {
  execFileSync(process.execPath, [haft, "undo", "--last", "--folder", work], { stdio: "inherit" });
}
console.log(`cart.mjs is now:\n${readFileSync(join(work, "cart.mjs"), "utf8")}`);
process.stdin.destroy();
