import { openHaft } from "../../host.ts";
import { serveArtifacts } from "../../capabilities/artifacts.ts";
import { MCP_STATE_KEY } from "../../http/mcp-endpoint.ts";
import { serveMcpStdio } from "../../mcp/server/stdio-server.ts";
import { describeApproval } from "../../gate/permit/describe-approval.ts";
import { isToolAllowed } from "../../gate/permit/tool-policy.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit-code.ts";
import { userName } from "../open-embedded.ts";
import { safe } from "../output.ts";
import { readVersion } from "../read-version.ts";

export const command = defineCommand({
  examples: [
    ["claude mcp add haft -- haft mcp --folder .", "give Claude Code the tools of this folder"],
    ["haft mcp --profile coding", "only the tools of a profile"],
    ["haft mcp --tools group:fs,grep --dialect claude", "only these, under the names that Claude models know"],
  ],
  options: {
    profile: { type: "text", value: "NAME", about: "Only the tools of this profile" },
    tools: { type: "list", value: "NAMES", about: "Only these tools, groups and patterns" },
    dialect: {
      type: "text",
      value: "NAME",
      about: "The names that models are shown",
      oneOf: ["snake", "claude", "openclaw"],
    },
    defer: {
      type: "flag",
      about: "Where tools are too many, list a part of them and tool_search; for clients that list again when told",
    },
    hold: {
      type: "duration",
      value: "TIME",
      about: "How long a call waits for an answer that the client cannot give; 45s unless said",
    },
  },
  notes: [
    "Serves one MCP client over standard input and output, in the revision that it speaks. A call that must ask asks the",
    "client; one that cannot be asked is held, and answered here: `haft approvals watch`, or the console of `haft`.",
  ],
  async run({ folder, terminal, output, interrupted, options: { profile, tools, dialect, defer, hold } }) {
    const host = await openHaft(folder, {
      env: terminal.env,
      approvalWaitMs: false,
      // Standard output belongs to the protocol.
      onWarning: (warning) => output.warn(safe(warning)),
    });
    try {
      const narrowed = {
        profile,
        allow: tools.length === 0 ? undefined : tools,
      };
      const serving = await serveMcpStdio(host.haft, {
        identity: { id: "local", name: userName(), rights: ["read", "call", "approve"] },
        describe: (question) => describeApproval(question as never),
        stateKey: await host.store.keys(MCP_STATE_KEY),
        serverInfo: { name: "haft", title: "Haft", version: await readVersion() },
        resources: [serveArtifacts(host.artifacts)],
        shows: (tool) => isToolAllowed(tool, narrowed),
        defers: defer || host.config.value.toolSearch.mcp === true,
        dialect,
        holdMs: hold,
        onError: (error) => output.warn(safe(error.message)),
      });
      interrupted.addEventListener("abort", () => void serving.close(), { once: true });
      await serving.closed;
      return EXIT.done;
    } finally {
      await host.close();
    }
  },
});
