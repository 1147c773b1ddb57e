import { randomBytes, timingSafeEqual } from "node:crypto";
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { toolError } from "../../core/error.ts";
import type { MaybePromise } from "../../core/stage.ts";
import { readSecureUrl } from "./transports.ts";

export interface SignInOptions {
  tokens: TokenStore;
  /** Where the browser returns to: a page of this program. A function where it is known later. */
  redirectUrl: string | (() => string);
  /** The https address of our client-ID metadata document; without one the server is asked to register us. */
  clientMetadataUrl?: string;
  /**
   * Shows the page to the person, or opens a browser there: with the address as an argument, never through a shell. Absent:
   * nobody can be sent there, and only what was signed in to before is used.
   */
  onAuthorize?(request: { server: string; url: URL }): void | Promise<void>;
}

export interface SignIn {
  readonly provider: OAuthClientProvider;
  /** The page where the person signs in, once the server has asked for it. */
  readonly page: URL | undefined;
  /** From here on the page is shown as soon as it is known. Without it a server that starts opens no browser. */
  begin(): void;
  /** Shows a page that is known already: a server that works wants more rights for one of its calls. */
  show(): Promise<void>;
  /** The parameters of the address that the browser came back to; throws where they are not of the sign-in begun here. */
  returned(callback: string | URL): Promise<URLSearchParams>;
}

/** Authorisation code with PKCE, as the SDK plays it; what it leaves to the host: `state`, where pages lead, and memory. */
export function createSignIn(server: string, serverUrl: URL, options: SignInOptions): SignIn {
  const { tokens: store, clientMetadataUrl, onAuthorize } = options;
  const redirectUrl = (): string =>
    typeof options.redirectUrl === "function" ? options.redirectUrl() : options.redirectUrl;
  let page: URL | undefined;
  let isBegun = false;

  async function read(): Promise<StoredSignIn> {
    const stored = await store.get(server);
    return stored?.url === serverUrl.href ? stored : { url: serverUrl.href };
  }

  async function change(part: Partial<StoredSignIn>): Promise<void> {
    const merged: StoredSignIn = { ...(await read()), ...part };
    await store.set(server, merged);
  }

  /** A client is registered for one place to return to. For who signs in anew from another, it is registered anew. */
  async function readClient(): Promise<StoredSignIn["client"]> {
    const { client } = await read();
    const places = (client as { redirect_uris?: readonly string[] } | undefined)?.redirect_uris;
    return isBegun && places && !places.includes(redirectUrl()) ? undefined : client;
  }

  const provider: OAuthClientProvider = {
    get redirectUrl() {
      return redirectUrl();
    },
    clientMetadataUrl,
    get clientMetadata() {
      return {
        client_name: "Haft",
        redirect_uris: [redirectUrl()],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      };
    },
    async state() {
      const state = randomBytes(24).toString("base64url");
      await change({ state });
      return state;
    },
    clientInformation: readClient,
    saveClientInformation: (client) => change({ client }),
    tokens: async () => (await read()).tokens,
    // What was found out was for this sign-in: a server may move to another authorisation server before the next.
    saveTokens: (tokens) => change({ tokens, discovery: undefined }),
    saveCodeVerifier: (codeVerifier) => change({ codeVerifier }),
    async codeVerifier() {
      const { codeVerifier } = await read();
      if (codeVerifier === undefined) throw notStarted(server);
      return codeVerifier;
    },
    saveDiscoveryState: (discovery) => change({ discovery }),
    discoveryState: async () => (await read()).discovery,
    async invalidateCredentials(scope) {
      const stored = await read();
      if (scope === "all" || scope === "client") delete stored.client;
      if (scope === "all" || scope === "tokens") delete stored.tokens;
      if (scope === "all" || scope === "verifier") delete stored.codeVerifier;
      if (scope === "all" || scope === "discovery") delete stored.discovery;
      await store.set(server, stored);
    },
    async redirectToAuthorization(url) {
      page = readSecureUrl(url, `The sign-in page of MCP server "${server}"`);
      if (!isBegun) return;
      isBegun = false;
      await onAuthorize?.({ server, url: page });
    },
  };

  return {
    provider,
    get page() {
      return page;
    },
    begin() {
      if (!onAuthorize) throw noPage(server);
      isBegun = true;
    },
    async show() {
      if (!onAuthorize) throw noPage(server);
      if (page) await onAuthorize({ server, url: page });
    },
    async returned(callback) {
      const parameters = new URL(callback, redirectUrl()).searchParams;
      const stored = await read();
      if (stored.state === undefined || stored.codeVerifier === undefined) throw notStarted(server);
      if (!isEqualSecret(parameters.get("state") ?? "", stored.state)) {
        throw toolError(
          "denied",
          `The browser came back from another sign-in than that of "${server}" (state differs)`,
          {
            next: "Nothing was accepted. Begin the sign-in again.",
          },
        );
      }
      // Once: the same address must not work again.
      delete stored.state;
      await store.set(server, stored);
      page = undefined;
      return parameters;
    },
  };
}

export function isEqualSecret(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function notStarted(server: string): Error {
  return toolError("conflict", `No sign-in to "${server}" was begun here`, { next: "Begin it first." });
}

function noPage(server: string): Error {
  return toolError("unavailable", `Nobody can be shown the sign-in page of "${server}" here`, {
    next: `Ask the person to sign in with: haft mcp login ${server}`,
  });
}

/** What is known of one server's sign-in: plain JSON, and secret. */
export interface StoredSignIn {
  /** Of the server; what was stored for another address is never sent. */
  url: string;
  tokens?: StoredOAuthTokens;
  client?: StoredOAuthClientInformation;
  /** Of a sign-in that a person has begun. */
  codeVerifier?: string;
  state?: string;
  discovery?: OAuthDiscoveryState;
}

export interface TokenStore {
  get(server: string): MaybePromise<StoredSignIn | undefined>;
  set(server: string, signIn: StoredSignIn): MaybePromise<void>;
  delete(server: string): MaybePromise<void>;
}
