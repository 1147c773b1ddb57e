import { defineCommand } from "../command.ts";
import { UsageError } from "../usage-error.ts";

export const command = defineCommand({
  examples: [
    ["haft mcp add files -- npx -y @modelcontextprotocol/server-filesystem .", "a server that is started as a program"],
    ["haft mcp add linear --url https://mcp.linear.app/mcp", "a server at an address"],
    ["haft mcp add files --env ROOT=. -- node server.js", "with a variable of its environment"],
  ],
  operands: [{ name: "NAME" }],
  takesRest: true,
  options: {
    url: { type: "text", value: "URL", about: "Where a remote server is" },
    header: { type: "list", value: "NAME=VALUE", about: "Sent with every request to it" },
    env: { type: "list", value: "NAME=VALUE", about: "For the server that is started" },
  },
  notes: ["Written to .mcp.json of the folder, which other MCP clients read too. Then `haft trust` lets it run."],
  async run({ operands: [name = ""], rest, folder, output, options: { url, header, env } }) {
    const [program, ...args] = rest;
    if ((url === undefined) === (program === undefined)) {
      throw new UsageError("Say either --url URL, or the command that starts the server after --.");
    }
    const { addMcpServer } = await import("../../config/mcp-json.ts");
    const server =
      url === undefined
        ? { command: program!, args: args.length > 0 ? args : undefined, ...pairs("env", env) }
        : { type: "http", url, ...pairs("headers", header) };
    const { file, replaced } = await addMcpServer(folder, name, server);
    output.data({ name, file, replaced }, () => [file]);
    output.info(`${replaced ? "Replaced" : "Added"} "${name}". It runs once you agree to it: haft trust`);
  },
});

function pairs(key: "env" | "headers", given: readonly string[]): Record<string, Record<string, string>> {
  if (given.length === 0) return {};
  const entries = given.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`"${pair}" is no NAME=VALUE.`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return { [key]: Object.fromEntries(entries) };
}
