import { z } from "zod";
import type * as wire from "../wire.ts";
import { count, name, time, typed } from "./basics.ts";

const tool = z.strictObject({
  name: z.string(),
  exposedName: z.string().optional(),
  isAvailable: z.boolean(),
  isEnabled: z.boolean(),
  review: z.enum(["approved", "new", "changed"]).optional(),
  hash: z.string().optional(),
  difference: z.string().optional(),
  refused: z.string().optional(),
});

export const McpServerInfo = typed<wire.McpServerInfo>(
  z.strictObject({
    name: z.string(),
    state: z.enum(["connecting", "ready", "unavailable", "needs_sign_in", "needs_approval", "stopped"]),
    error: z.string().optional(),
    nextTryAt: time.optional(),
    transport: z.string(),
    inferred: z.boolean(),
    era: z.enum(["legacy", "modern"]).optional(),
    protocolVersion: z.string().optional(),
    server: z.strictObject({ name: z.string(), version: z.string() }).optional(),
    instructions: z.string().optional(),
    latencyMs: z.number().optional(),
    launchHash: z.string().optional(),
    tools: z.array(tool),
    stderr: z.array(z.string()),
    faults: z.array(z.string()),
    faultCount: count,
    log: z.array(z.string()),
    trusted: z.boolean(),
    origin: z.string().optional(),
    signInPage: z.string().optional(),
  }),
);

export const McpActionRequest = typed<wire.McpActionRequest>(
  z.strictObject({
    action: z.enum(["reconnect", "disconnect", "approve_launch", "approve_tool", "enable_tool", "disable_tool"]),
    tool: name.optional(),
    hash: name.optional(),
  }),
);
