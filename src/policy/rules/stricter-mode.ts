import type { CallMode } from "../../core/call.ts";

/** plan forbids what dontAsk may allow, and asks where dontAsk refuses: neither stands in for the other. */
const LOOSER: Readonly<Record<CallMode, readonly CallMode[]>> = {
  plan: ["default", "acceptEdits", "bypassPermissions"],
  dontAsk: ["default", "acceptEdits", "bypassPermissions"],
  default: ["acceptEdits", "bypassPermissions"],
  acceptEdits: ["bypassPermissions"],
  bypassPermissions: [],
};

/** Whether nothing passes in the one mode that would not pass in the other. */
export function isAtLeastAsStrict(mode: CallMode, as: CallMode): boolean {
  return mode === as || LOOSER[mode].includes(as);
}
