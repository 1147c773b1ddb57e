import { z } from "zod";
import type { CallMode } from "../core/call.ts";
import { ApiError } from "./errors.ts";

/** `read` sees, `call` runs tools, `approve` answers questions and changes rules, `admin` manages tokens. */
export const Scope = z.enum(["read", "call", "approve", "admin"]);
export type Scope = z.infer<typeof Scope>;

/** Who makes a request. Over HTTP the token decides this alone, whatever the request says. */
export interface Identity {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly kind: "session" | "token";
  readonly expiresAt?: number;
}

/** For public endpoints. */
export const ANONYMOUS: Identity = { id: "", name: "", scopes: [], kind: "token" };

/** `what` is the subject of the message: "To answer", "POST /api/jobs/{id}/cancel". */
export function requireScope({ name, scopes }: Identity, scope: Scope, what = "This"): void {
  if (scopes.includes(scope)) return;
  throw new ApiError(
    "forbidden",
    `${what} needs the scope "${scope}", and the token "${name}" has ${scopes.join(", ") || "none"}`,
    "Use a token that has it.",
    { data: { scope } },
  );
}

/** These modes skip questions, so choosing one needs the right to answer them. */
const PERMISSIVE_MODES: readonly unknown[] = ["acceptEdits", "bypassPermissions"];

export function requireMode(mode: CallMode | undefined, identity: Identity): void {
  if (PERMISSIVE_MODES.includes(mode)) requireScope(identity, "approve", `The mode "${mode}"`);
}
