import { z } from "zod";
import type * as wire from "../wire.ts";
import { Scope, count, name, time, typed } from "./basics.ts";

export const Health = typed<wire.Health>(z.strictObject({ status: z.literal("ok") }));

export const ServerInfo = typed<wire.ServerInfo>(
  z.strictObject({
    name: z.literal("haft"),
    version: z.string(),
    startedAt: time,
    workspace: z.string().optional(),
    store: z.strictObject({ kind: z.enum(["memory", "sqlite", "postgres"]), place: z.string().optional() }).optional(),
    sandbox: z.strictObject({ kind: z.string(), enforced: z.boolean(), reason: z.string().optional() }).optional(),
    parts: z.array(
      z.enum([
        "policy",
        "audit",
        "undo",
        "artifacts",
        "canvas",
        "configuration",
        "rules",
        "tokens",
        "mcp",
        "channels",
        "questions",
        "jobs",
        "schedules",
        "sessions",
      ]),
    ),
    warnings: z.array(z.string()),
    load: z.strictObject({ running: count, waiting: count }),
  }),
);

export const LoginRequest = typed<wire.LoginRequest>(z.strictObject({ token: z.string().min(1).max(512) }));

export const SessionInfo = typed<wire.SessionInfo>(
  z.strictObject({
    name: z.string(),
    scopes: z.array(Scope),
    kind: z.enum(["session", "token"]),
    expiresAt: time.optional(),
  }),
);

const tokenInfo = {
  id: z.string(),
  name: z.string(),
  scopes: z.array(Scope),
  createdAt: time,
  expiresAt: time.optional(),
};
export const TokenInfo = typed<wire.TokenInfo>(z.strictObject(tokenInfo));
export const NewToken = typed<wire.NewToken>(z.strictObject({ ...tokenInfo, token: z.string() }));
export const TokenRequest = typed<wire.TokenRequest>(
  z.strictObject({
    name,
    scopes: z.array(Scope).min(1).max(4),
    expiresInMs: z
      .number()
      .int()
      .min(1000)
      .max(3_650 * 86_400_000)
      .optional(),
  }),
);
