// An MCP server behind OAuth, and the browser of the person who signs in.
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { createModernServer } from "./modern-server.mjs";

export interface OAuthServer {
  url: string;
  origin: string;
  /** The parameters of requests to the sign-in page. */
  registered: unknown[];
  tokensGiven: number;
  /** Tool calls need the second token, which has more rights. */
  wantsMore: boolean;
}

/** An MCP server behind OAuth: protected-resource metadata, an authorisation server that checks PKCE, bearer tokens. */
export async function openOAuthServer(metadata: Record<string, unknown> = {}): Promise<OAuthServer> {
  const handler = createMcpHandler(() => createModernServer());
  const api: OAuthServer = { url: "", origin: "", registered: [], tokensGiven: 0, wantsMore: false };
  const server = createServer((request, response) => {
    const json = (body: unknown, status = 200): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    const { pathname } = new URL(request.url ?? "/", api.origin);
    if (pathname.startsWith("/.well-known/oauth-protected-resource")) {
      return json({ resource: api.url, authorization_servers: [api.origin] });
    }
    if (pathname.startsWith("/.well-known/")) {
      return json({
        issuer: api.origin,
        authorization_endpoint: `${api.origin}/authorize`,
        token_endpoint: `${api.origin}/token`,
        registration_endpoint: `${api.origin}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
        authorization_response_iss_parameter_supported: true,
        ...metadata,
      });
    }
    if (pathname === "/authorize") {
      const page = new URL(request.url ?? "/", api.origin);
      return void response.writeHead(302, { location: callbackOf(page, api).href }).end();
    }
    if (pathname === "/register") {
      return void read(request).then((body) => {
        api.registered.push(JSON.parse(body));
        json({ client_id: "client-1", ...(JSON.parse(body) as object) }, 201);
      });
    }
    if (pathname === "/token") {
      return void read(request).then((body) => {
        const form = new URLSearchParams(body);
        const proof = createHash("sha256")
          .update(form.get("code_verifier") ?? "")
          .digest("base64url");
        if (form.get("code") !== `code-for-${proof}`) return json({ error: "invalid_grant" }, 400);
        api.tokensGiven++;
        const scope = form.get("scope") ?? "read";
        return json({ access_token: `token-${api.tokensGiven}`, token_type: "Bearer", expires_in: 3600, scope });
      });
    }
    const token = request.headers.authorization;
    if (api.wantsMore && request.headers["mcp-method"] === "tools/call" && token !== "Bearer token-2") {
      const challenge = `Bearer error="insufficient_scope", scope="admin", resource_metadata="${api.origin}/.well-known/oauth-protected-resource/mcp"`;
      return void response.writeHead(403, { "www-authenticate": challenge }).end();
    }
    if (token !== "Bearer token-1" && token !== "Bearer token-2") {
      response.writeHead(401, {
        "www-authenticate": `Bearer resource_metadata="${api.origin}/.well-known/oauth-protected-resource/mcp"`,
      });
      return void response.end();
    }
    return void toNodeHandler(handler)(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.closeAllConnections());
  onTestFinished(() => void server.close());
  api.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  api.url = `${api.origin}/mcp`;
  return api;
}

async function read(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** The callback address from the person's browser. */
export function callbackOf(page: URL, api: OAuthServer, change: Record<string, string | undefined> = {}): URL {
  const callback = new URL(page.searchParams.get("redirect_uri")!);
  const parameters: Record<string, string | undefined> = {
    code: `code-for-${page.searchParams.get("code_challenge")}`,
    state: page.searchParams.get("state") ?? undefined,
    iss: api.origin,
    ...change,
  };
  for (const [name, value] of Object.entries(parameters))
    if (value !== undefined) callback.searchParams.set(name, value);
  return callback;
}
