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
  tokens: SignInStore;
  /** The page of this program that the browser returns to. A function if it is known only later. */
  redirectUrl: string | (() => string);
  /** The https address of our client ID metadata document. If omitted, the client registers dynamically. */
  clientMetadataUrl?: string;
  /**
   * Shows the page to the person, or opens a browser: pass the address as an argument, never through a shell. If omitted,
   * only earlier sign-ins are used.
   */
  onAuthorize?(request: { server: string; url: URL }): void | Promise<void>;
}

/** Authorization code flow with PKCE. The SDK runs it; this class adds `state`, checks of pages, and storage. */
export class SignIn {
  readonly provider: OAuthClientProvider;
  readonly #server: string;
  readonly #serverUrl: string;
  readonly #options: SignInOptions;
  #page: URL | undefined;
  #isStarted = false;

  constructor(server: string, serverUrl: URL, options: SignInOptions) {
    this.#server = server;
    this.#serverUrl = serverUrl.href;
    this.#options = options;
    this.provider = this.#createProvider();
  }

  /** The page where the person signs in, if the server requires it. */
  get page(): URL | undefined {
    return this.#page;
  }

  /** Shows the page as soon as it is known. Without this call, connecting to a server opens no browser. */
  begin(): void {
    if (!this.#options.onAuthorize) throw cannotShowPage(this.#server);
    this.#isStarted = true;
  }

  /** Shows a known page: a connected server requires more rights for a call. */
  async show(): Promise<void> {
    const { onAuthorize } = this.#options;
    if (!onAuthorize) throw cannotShowPage(this.#server);
    if (this.#page) await onAuthorize({ server: this.#server, url: this.#page });
  }

  /** The parameters of the callback address. Rejects if they do not belong to the sign-in that was started. */
  async returned(callback: string | URL): Promise<URLSearchParams> {
    const parameters = new URL(callback, this.#redirectUrl).searchParams;
    const stored = await this.#read();
    if (stored.state === undefined || stored.codeVerifier === undefined) throw notStarted(this.#server);
    if (!isEqualSecret(parameters.get("state") ?? "", stored.state)) {
      const message = `The browser returned from another sign-in than that of "${this.#server}" (state differs)`;
      throw toolError("denied", message, { next: "Nothing was accepted. Start the sign-in again." });
    }
    // The same address must not work twice.
    delete stored.state;
    await this.#options.tokens.set(this.#server, stored);
    this.#page = undefined;
    return parameters;
  }

  get #redirectUrl(): string {
    const { redirectUrl } = this.#options;
    return typeof redirectUrl === "function" ? redirectUrl() : redirectUrl;
  }

  #createProvider(): OAuthClientProvider {
    const redirectUrl = (): string => this.#redirectUrl;
    return {
      get redirectUrl() {
        return redirectUrl();
      },
      clientMetadataUrl: this.#options.clientMetadataUrl,
      get clientMetadata() {
        return {
          client_name: "Haft",
          redirect_uris: [redirectUrl()],
          grant_types: ["authorization_code", "refresh_token"],
          response_types: ["code"],
          token_endpoint_auth_method: "none",
        };
      },
      state: async () => {
        const state = randomBytes(24).toString("base64url");
        await this.#change({ state });
        return state;
      },
      clientInformation: () => this.#readClient(),
      saveClientInformation: (client) => this.#change({ client }),
      tokens: async () => (await this.#read()).tokens,
      // Discovery is repeated for each sign-in: the server may use another authorization server next time.
      saveTokens: (tokens) => this.#change({ tokens, discovery: undefined }),
      saveCodeVerifier: (codeVerifier) => this.#change({ codeVerifier }),
      codeVerifier: async () => {
        const { codeVerifier } = await this.#read();
        if (codeVerifier === undefined) throw notStarted(this.#server);
        return codeVerifier;
      },
      saveDiscoveryState: (discovery) => this.#change({ discovery }),
      discoveryState: async () => (await this.#read()).discovery,
      invalidateCredentials: async (scope) => {
        const stored = await this.#read();
        if (scope === "all" || scope === "client") delete stored.client;
        if (scope === "all" || scope === "tokens") delete stored.tokens;
        if (scope === "all" || scope === "verifier") delete stored.codeVerifier;
        if (scope === "all" || scope === "discovery") delete stored.discovery;
        await this.#options.tokens.set(this.#server, stored);
      },
      redirectToAuthorization: async (url) => {
        this.#page = readSecureUrl(url, `The sign-in page of MCP server "${this.#server}"`);
        if (!this.#isStarted) return;
        this.#isStarted = false;
        await this.#options.onAuthorize?.({ server: this.#server, url: this.#page });
      },
    };
  }

  async #read(): Promise<StoredSignIn> {
    const stored = await this.#options.tokens.get(this.#server);
    return stored?.url === this.#serverUrl ? stored : { url: this.#serverUrl };
  }

  async #change(changes: Partial<StoredSignIn>): Promise<void> {
    await this.#options.tokens.set(this.#server, { ...(await this.#read()), ...changes });
  }

  /** A client is registered for one redirect address. A sign-in from another one registers again. */
  async #readClient(): Promise<StoredSignIn["client"]> {
    const { client } = await this.#read();
    const redirectUris = client && "redirect_uris" in client ? client.redirect_uris : undefined;
    return this.#isStarted && redirectUris && !redirectUris.includes(this.#redirectUrl) ? undefined : client;
  }
}

export function isEqualSecret(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function notStarted(server: string): Error {
  return toolError("conflict", `No sign-in to "${server}" was started here`, { next: "Start it first." });
}

function cannotShowPage(server: string): Error {
  return toolError("unavailable", `The sign-in page of "${server}" cannot be shown here`, {
    next: `A person must sign in first: haft mcp login ${server}`,
  });
}

/** The stored sign-in to one server: plain JSON with secrets. */
export interface StoredSignIn {
  /** The address of the server. Credentials for another address are never sent. */
  url: string;
  tokens?: StoredOAuthTokens;
  client?: StoredOAuthClientInformation;
  /** Of a sign-in in progress. */
  codeVerifier?: string;
  state?: string;
  discovery?: OAuthDiscoveryState;
}

export interface SignInStore {
  get(server: string): MaybePromise<StoredSignIn | undefined>;
  set(server: string, signIn: StoredSignIn): MaybePromise<void>;
  delete(server: string): MaybePromise<void>;
}
