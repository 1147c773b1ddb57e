// A real MCP server over stdio with 1,000 tools, like the gateway of a company. Uses only Node.
import { createInterface } from "node:readline";

const words = (text) => text.trim().split(/\s+/);
const SERVICES = words("billing calendar crm deploy docs fleet hiring inventory legal payroll");
const VERBS = words("archive assign cancel create export find merge rename restore update");
const THINGS = words("account contract employee invoice meeting order ticket vehicle version warehouse");

const property = (type, description) => ({ type, description });
const TOOLS = SERVICES.flatMap((service) =>
  VERBS.flatMap((verb) =>
    THINGS.map((thing) => ({
      name: `${service}_${verb}_${thing}`,
      description:
        `${verb[0].toUpperCase()}${verb.slice(1)} the ${thing} in the ${service} system. Gives the ${thing} as it is afterwards, ` +
        `with who changed it and when. Needs the ${thing}'s identifier, which the ${service} system shows in its lists.`,
      inputSchema: {
        type: "object",
        properties: {
          id: property("string", `Identifier of the ${thing}, such as ${thing.slice(0, 3).toUpperCase()}-1042`),
          reason: property("string", "Why, in a sentence; it is kept with the change and shown to others"),
          notify: property("boolean", "Whether those concerned are told by mail"),
        },
        required: ["id"],
      },
      annotations: { readOnlyHint: verb === "find" },
    })),
  ),
);

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "thousand-tools", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: TOOLS }),
  "tools/call": ({ name, arguments: input }) => ({
    content: [{ type: "text", text: `${name} was done: ${JSON.stringify(input)}` }],
  }),
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  const answer = ANSWERS[method];
  if (answer) send({ id, result: answer(params) });
  else send({ id, error: { code: -32_601, message: `Method not found: ${method}` } });
});
