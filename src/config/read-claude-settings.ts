import { didYouMean } from "../core/nearest-name.ts";
import type { ConfigPath } from "./config-problem.ts";
import { isObject } from "./read-mcp-servers.ts";

const EVENTS = ["PreToolUse", "PermissionRequest", "PostToolUse"];
const MODES = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"];
const LISTS = ["allow", "ask", "deny"];
const PERMISSION_KEYS = [...LISTS, "defaultMode", "disableBypassPermissionsMode"];
const HOOK_KEYS: Readonly<Record<string, readonly string[]>> = {
  command: ["type", "command", "args", "timeout", "onFailure", "statusMessage"],
  http: ["type", "url", "headers", "allowedEnvVars", "timeout", "onFailure", "statusMessage"],
};

/** A place of a `.claude/settings.json` that is not taken over, and why where its reader should know. */
export interface LeftOut {
  path: ConfigPath;
  note?: string;
}

/** Permissions and hooks are taken as they are. The other keys of the file are not Haft's, and nothing is said of them. */
export function listLeftOut(value: unknown): LeftOut[] {
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, field]): LeftOut[] => {
    if (key === "permissions") return isObject(field) ? leftOutOfPermissions(field) : [];
    if (key === "hooks") return isObject(field) ? leftOutOfHooks(field) : [];
    return [{ path: [key] }];
  });
}

function leftOutOfPermissions(permissions: Record<string, unknown>): LeftOut[] {
  return Object.entries(permissions).flatMap(([key, value]): LeftOut[] => {
    const path = ["permissions", key];
    if (!PERMISSION_KEYS.includes(key)) {
      return [{ path, note: `Not taken over. ${didYouMean(key, LISTS) ?? "Haft has no such key."}` }];
    }
    if (key !== "defaultMode" || MODES.includes(String(value))) return [];
    return [{ path, note: `The mode ${JSON.stringify(value)} is not taken over; the default mode is used.` }];
  });
}

function leftOutOfHooks(hooks: Record<string, unknown>): LeftOut[] {
  return Object.entries(hooks).flatMap(([event, groups]): LeftOut[] => {
    const path = ["hooks", event];
    if (!EVENTS.includes(event)) {
      return [{ path, note: `Hooks for ${event} are not taken over. ${didYouMean(event, EVENTS) ?? ""}`.trim() }];
    }
    if (!Array.isArray(groups)) return [];
    return groups.flatMap((group: unknown, index) => {
      const handlers: unknown = isObject(group) ? group["hooks"] : undefined;
      if (!Array.isArray(handlers)) return [];
      return handlers.flatMap((handler: unknown, each) =>
        isObject(handler) ? leftOutOfHandler(handler, [...path, index, "hooks", each]) : [],
      );
    });
  });
}

function leftOutOfHandler(handler: Record<string, unknown>, path: ConfigPath): LeftOut[] {
  const type = String(handler["type"]);
  const known = Object.hasOwn(HOOK_KEYS, type) ? HOOK_KEYS[type]! : undefined;
  if (!known) return [{ path, note: `Hooks of type "${type}" are not taken over; command and http are.` }];
  return Object.keys(handler)
    .filter((key) => !known.includes(key))
    .map((key) => ({ path: [...path, key], note: "Not taken over: Haft's hooks have no such key." }));
}
