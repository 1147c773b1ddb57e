/**
 * The whole API, one contract per resource. Times are Unix milliseconds. A list is a page. A request that fails is an
 * `ErrorAnswer` with a status of 400 or more; a call that fails is a result. The endpoints of a part that the server does not
 * have answer 404 `not_here`, and `ServerInfo.parts` does not list it.
 *
 * Building all schemas takes tens of milliseconds: a program that starts often imports the contracts that it needs.
 */
import { approvals } from "./approvals.ts";
import { artifacts } from "./artifacts.ts";
import { audit } from "./audit.ts";
import { calls } from "./calls.ts";
import { canvas } from "./canvas.ts";
import { channels } from "./channels.ts";
import { configuration } from "./configuration.ts";
import type { Client, Handlers } from "./contract.ts";
import { events } from "./events.ts";
import { grants } from "./grants.ts";
import { jobs } from "./jobs.ts";
import { mcp } from "./mcp.ts";
import { playground } from "./playground.ts";
import { policy } from "./policy.ts";
import { questions } from "./questions.ts";
import { schedules } from "./schedules.ts";
import { server } from "./server.ts";
import { session } from "./session.ts";
import { sessions } from "./sessions.ts";
import { statistics } from "./statistics.ts";
import { store } from "./store.ts";
import { tokens } from "./tokens.ts";
import { tools } from "./tools.ts";
import { undo } from "./undo.ts";

export const contracts = {
  server,
  session,
  tokens,
  tools,
  calls,
  approvals,
  grants,
  policy,
  playground,
  audit,
  statistics,
  store,
  undo,
  artifacts,
  canvas,
  mcp,
  channels,
  questions,
  jobs,
  schedules,
  sessions,
  configuration,
  events,
};
export type Contracts = typeof contracts;

/** The client of the whole API, over HTTP or in process. */
export type ApiClient = { readonly [Resource in keyof Contracts]: Client<Contracts[Resource]> };

/** The handlers of the whole API. A resource without handlers does not exist on this server. */
export type ApiHandlers<Context = unknown> = {
  readonly [Resource in keyof Contracts]?: Handlers<Contracts[Resource], Context>;
};

// The types of requests and responses.
export type * from "./approvals.ts";
export type * from "./artifacts.ts";
export type * from "./audit.ts";
export type * from "./basics.ts";
export type * from "./calls.ts";
export type * from "./canvas.ts";
export type * from "./channels.ts";
export type * from "./configuration.ts";
export type * from "./contract.ts";
export type * from "./errors.ts";
export type * from "./events.ts";
export type * from "./grants.ts";
export type * from "./identity.ts";
export type * from "./jobs.ts";
export type * from "./mcp.ts";
export type * from "./playground.ts";
export type * from "./policy.ts";
export type * from "./questions.ts";
export type * from "./schedules.ts";
export type * from "./server.ts";
export type * from "./session.ts";
export type * from "./sessions.ts";
export type * from "./socket.ts";
export type * from "./statistics.ts";
export type * from "./tokens.ts";
export type * from "./tools.ts";
export type * from "./store.ts";
export type * from "./undo.ts";
