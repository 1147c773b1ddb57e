/**
 * The WebSocket at `/api/socket`: events to the client, calls and the tools of clients to the server. The identity is decided
 * before it opens: by the cookie, by `Authorization: Bearer`, or by the subprotocols `["haft", "haft.token." + token]`.
 */
import { z } from "zod";
import { Content, JsonObject, Name, Time, ToolKind, ToolPermission, ToolResult } from "./basics.ts";
import { CallFrame, CallRequest } from "./calls.ts";
import { named, namedObject } from "./contract.ts";
import { ErrorAnswer } from "./errors.ts";

export const SOCKET_PATH = "/api/socket";

/** A tool that runs at the client. */
export const ClientTool = namedObject("ClientTool", {
  name: Name,
  description: z.string().max(20_000),
  aliases: z.array(Name).max(20).optional(),
  parameters: JsonObject.optional(),
  /** `details` of an answer must match it. */
  output: JsonObject.optional(),
  /** Default: `execute`. */
  kind: ToolKind.optional(),
  permission: ToolPermission.optional(),
  needsApproval: z.boolean().optional(),
  /** Max time until the answer. Default: five minutes. */
  timeoutMs: z.number().int().min(1).optional(),
});
export type ClientTool = z.infer<typeof ClientTool>;

/** A call that a client has to run. */
export const ClientCall = namedObject("ClientCall", {
  /** Of this request; the answer repeats it. */
  id: z.string(),
  callId: z.string(),
  tool: z.string(),
  input: z.unknown(),
  caller: z.strictObject({
    session: z.string().optional(),
    agent: z.string().optional(),
    user: z.string().optional(),
  }),
  /** Later answers are refused. */
  expiresAt: Time,
});
export type ClientCall = z.infer<typeof ClientCall>;

const clientAnswer = {
  content: z.union([z.string(), z.array(Content)]).optional(),
  details: z.unknown().optional(),
  /** Why it failed, for the model. */
  error: z.string().optional(),
};
export const ClientAnswer = z.strictObject(clientAnswer);
export type ClientAnswer = z.infer<typeof ClientAnswer>;

const request = Name;

/**
 * A client brings tools for the calls of its own user. It may disconnect and return under the same name: calls without an
 * answer are sent again. Each call is answered once.
 */
const clientRequests = [
  z.strictObject({ type: z.literal("register"), request, client: Name.optional(), tools: z.array(ClientTool) }),
  z.strictObject({ type: z.literal("unregister"), request }),
  z.strictObject({ type: z.literal("result"), request, id: Name, ...clientAnswer }),
] as const;
export type ClientRequest = z.infer<(typeof clientRequests)[number]>;

/** A message of the client. `request` is an id that the client chooses. */
export const SocketRequest = named(
  "SocketRequest",
  z.discriminatedUnion("type", [
    z.strictObject({
      type: z.literal("call"),
      request,
      /** `background`: the call continues after the socket closes. */
      call: CallRequest.extend({ answer: z.enum(["result", "events", "background"]).optional() }),
    }),
    z.strictObject({ type: z.literal("cancel"), request, callId: Name }),
    ...clientRequests,
  ]),
);
export type SocketRequest = z.infer<typeof SocketRequest>;

export const SocketAnswer = named(
  "SocketAnswer",
  z.union([
    z.strictObject({ request: z.string(), frame: CallFrame }),
    z.strictObject({ request: z.string(), cancelled: z.boolean() }),
    z.strictObject({ request: z.string(), registered: z.array(z.string()) }),
    /** The final result of a call that the client ran. */
    z.strictObject({ request: z.string(), result: ToolResult }),
    z.strictObject({ request: z.string(), error: ErrorAnswer.shape.error }),
  ]),
);
export type SocketAnswer = z.infer<typeof SocketAnswer>;
