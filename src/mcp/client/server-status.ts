/** `new`: nobody has seen the definition yet. `changed`: it is no longer the one that was approved. */
export type ReviewState = "approved" | "new" | "changed";

/**
 * `unavailable`: it failed, and is tried again. `needs_sign_in` and `needs_approval`: it waits for a person. `stopped`: the
 * host disabled or disconnected it.
 */
export type McpServerState = "connecting" | "ready" | "unavailable" | "needs_sign_in" | "needs_approval" | "stopped";

export interface McpServerStatus {
  name: string;
  state: McpServerState;
  /** Why it is in a state that it should not be in. */
  error?: string;
  /** When it is tried again, Unix milliseconds. */
  nextTryAt?: number;
  transport: string;
  /** Whether the transport was concluded, by the configuration or because the server knew only an older one. */
  inferred: boolean;
  era?: "legacy" | "modern";
  protocolVersion?: string;
  server?: { name: string; version: string };
  instructions?: string;
  /** How long the last list of tools took to come. */
  latencyMs?: number;
  /** Of how it is started now, in this process: an approval that names it is for no other. */
  launchHash?: string;
  tools: McpToolStatus[];
  stderr: string[];
  /** What it did wrong and that harmed nobody, the last of it; and how often. */
  faults: string[];
  faultCount: number;
  log: string[];
  trusted: boolean;
  origin?: string;
  /** Where a person signs in; of a server that is ready: to let it do more. */
  signInPage?: string;
}

export interface McpToolStatus {
  name: string;
  /** Under which it is registered. */
  exposedName?: string;
  isAvailable: boolean;
  isEnabled: boolean;
  review?: ReviewState;
  /** Of the definition as it is now: an approval that names it is for no other. */
  hash?: string;
  /** Of one that changed: from what was approved to what it is now. */
  difference?: string;
  /** Why it is not taken. */
  refused?: string;
}
