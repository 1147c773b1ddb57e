// The client that the conformance suite talks to: Haft's own MCPClient. It does what any host does with a server: signs in
// where that is wanted, lists everything, and calls every tool.
import { VERSION } from "../src/core/telemetry/version.ts";
import { MCPClient } from "../src/mcp/client/mcp-client.ts";
import type { SignInStore, StoredSignIn } from "../src/mcp/client/oauth.ts";
import type { McpServerConfig } from "../src/mcp/server-config.ts";

interface Context {
  toolCalls?: { name: string; arguments: Record<string, unknown> }[];
  client_id?: string;
  client_secret?: string;
}

const REDIRECT = "http://localhost:3000/callback";
/** Where the suite expects the document that describes a client. */
const CLIENT_METADATA = "https://conformance-test.local/client-metadata.json";
const MAX_SIGN_INS = 3;
const MAX_RESETS = 3;

const url = process.argv.at(-1)!;
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Context;
const isLegacy = (process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"] ?? "2026-07-28") < "2026";

const server: McpServerConfig = {
  name: "conformance",
  transport: "http",
  url,
  era: isLegacy ? "legacy" : "auto",
  // Some forty of these run at once.
  startTimeoutMs: 200_000,
  timeoutMs: 200_000,
};
const stored = new Map<string, StoredSignIn>();
const tokens: SignInStore = {
  get: (name) => structuredClone(stored.get(name)),
  set: (name, signIn) => void stored.set(name, signIn),
  delete: (name) => void stored.delete(name),
};
if (context.client_id !== undefined) {
  const { client_id, client_secret } = context;
  await tokens.set("conformance", {
    url: new URL(url).href,
    client: { client_id, ...(client_secret ? { client_secret } : {}) },
  });
}
let page: URL | undefined;
let signIns = 0;
let resets = 0;
const client = new MCPClient({
  clientInfo: { name: "haft", version: VERSION },
  // As a host does: the suite checks that it is declared as a root.
  workspace: process.cwd(),
  // A person who accepts what is proposed: the form's defaults, and yes where there are none.
  answerElicitation: async (request) => {
    if (request.mode === "url") return { action: "decline" };
    const properties = Object.entries(
      (request.schema["properties"] ?? {}) as Record<string, { type?: string; default?: unknown }>,
    );
    const chosen = properties.filter(([, { type, default: proposed }]) => proposed === undefined && type === "boolean");
    return { action: "accept", content: Object.fromEntries(chosen.map(([name]) => [name, true])) };
  },
  signIn: {
    tokens,
    redirectUrl: REDIRECT,
    clientMetadataUrl: CLIENT_METADATA,
    onAuthorize: (request) => void (page = request.url),
  },
});

await connect();
const tools = await withSignIn(() => client.listTools());
for (const call of context.toolCalls ??
  tools.map(({ name, inputSchema }) => ({ name, arguments: sampleOf(inputSchema) }))) {
  // As in a host, a call that fails harms no other.
  await withSignIn(() => client.callTool(call.name, call.arguments)).catch((error: Error) => {
    process.stderr.write(`${call.name}: ${error.message}\n`);
  });
}
for (const { uri } of await client.listResources()) await client.readResource(uri);
for (const { name } of await client.listPrompts()) await client.getPrompt(name);
await client.disconnect();

async function connect(): Promise<void> {
  for (let isSignedIn = false; !isSignedIn;) {
    isSignedIn = await client.signIn(server).catch((error: Error) => {
      // With forty scenarios in one process the suite drops a connection now and then; a host would try again as well.
      if (!error.message.includes("ECONNRESET") || ++resets > MAX_RESETS) throw error;
      return client.signIn(server);
    });
    if (!isSignedIn) await finishSignIn();
  }
}

/** What the person does in a browser. */
async function finishSignIn(): Promise<void> {
  if (!page || ++signIns > MAX_SIGN_INS) throw new Error("The server wants a sign-in again and again.");
  const response = await fetch(page, { redirect: "manual" });
  const location = response.headers.get("location");
  if (location === null) throw new Error(`The sign-in page answered ${response.status}.`);
  page = undefined;
  await client.finishSignIn(server, new URL(location, REDIRECT));
}

/** A server may want more rights for a call than for the connection. */
async function withSignIn<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!client.signInPage) throw error;
      if (await client.signIn(server)) continue;
      await finishSignIn();
      await client.disconnect();
      await connect();
    }
  }
}

function sampleOf(schema: { properties?: object }): Record<string, unknown> {
  const samples: Record<string, unknown> = {
    number: 2,
    integer: 2,
    string: "text",
    boolean: true,
    array: [],
    object: {},
  };
  const sample = (name: string, { type = "string" }: { type?: string }): unknown =>
    // One tool wants to see what arrived of another one's schema.
    name === "schema" ? tools.find(({ inputSchema }) => inputSchema !== schema)?.inputSchema : samples[type];
  return Object.fromEntries(
    Object.entries((schema.properties ?? {}) as Record<string, object>).map(([name, property]) => [
      name,
      sample(name, property),
    ]),
  );
}
