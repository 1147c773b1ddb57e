import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { MaybePromise } from "../../core/stage.ts";

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

/** Forgets with the process. */
export class MemoryTokenStore implements TokenStore {
  readonly #signIns = new Map<string, StoredSignIn>();

  get(server: string): StoredSignIn | undefined {
    return structuredClone(this.#signIns.get(server));
  }

  set(server: string, signIn: StoredSignIn): void {
    this.#signIns.set(server, structuredClone(signIn));
  }

  delete(server: string): void {
    this.#signIns.delete(server);
  }
}
