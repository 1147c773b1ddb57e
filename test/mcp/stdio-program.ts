// A Haft served over stdio, like `haft mcp`, for tests with real processes.
import { createHaft, createTool } from "../../src/index.ts";
import { serveMcpStdio } from "../../src/mcp/server/stdio-server.ts";
import { describeApproval } from "../../src/gate/permit/describe-approval.ts";
import type { Approval } from "../../src/calls/approval.ts";

const haft = createHaft();
haft.register(
  createTool({
    name: "echo",
    description: "Says it again",
    kind: "readonly",
    parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    run: (input) => (input as { text: string }).text,
  }),
);
haft.register(
  createTool({
    name: "send",
    description: "Sends a letter",
    kind: "write",
    parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
    permission: () => "confirm",
    run: (input) => `sent ${(input as { text: string }).text}`,
  }),
);
const { closed } = await serveMcpStdio(haft, { describe: (question) => describeApproval(question as Approval) });
await closed;
await haft.shutdown();
process.stderr.write("ended\n");
