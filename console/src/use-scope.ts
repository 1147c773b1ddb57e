import type { Scope } from "../../src/contracts/identity.ts";
import { useApi } from "./api.ts";

/** Whether the person may do what needs this scope. The server checks it again. */
export function useScope(scope: Scope): boolean {
  return useApi("session", "show", []).data?.scopes.includes(scope) ?? false;
}
