import { z } from "zod";
import type * as wire from "../wire.ts";
import { Content, count, name, text, time, typed } from "./basics.ts";

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
    action: z.enum([
      "reconnect",
      "disconnect",
      "sign_in",
      "approve_launch",
      "approve_tool",
      "enable_tool",
      "disable_tool",
    ]),
    tool: name.optional(),
    hash: name.optional(),
  }),
);

export const McpSignInRequest = typed<wire.McpSignInRequest>(z.strictObject({ callback: text }));

const facts = {
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  mimeType: z.string().optional(),
};

export const McpResourceList = typed<wire.McpResourceList>(
  z.strictObject({
    resources: z.array(z.strictObject({ uri: z.string(), ...facts, size: z.number().optional() })),
    templates: z.array(z.strictObject({ uriTemplate: z.string(), ...facts })),
  }),
);

export const McpReadRequest = typed<wire.McpReadRequest>(z.strictObject({ uri: z.string().min(1).max(4096) }));

export const McpPromptInfo = typed<wire.McpPromptInfo>(
  z.strictObject({
    name: z.string(),
    title: z.string().optional(),
    description: z.string().optional(),
    arguments: z.array(
      z.strictObject({ name: z.string(), description: z.string().optional(), isRequired: z.boolean() }),
    ),
  }),
);

export const McpPromptRequest = typed<wire.McpPromptRequest>(
  z.strictObject({ name, arguments: z.record(z.string(), text).optional() }),
);

export const McpPromptText = typed<wire.McpPromptText>(
  z.strictObject({
    description: z.string().optional(),
    messages: z.array(z.strictObject({ role: z.enum(["user", "assistant"]), content: Content })),
  }),
);
