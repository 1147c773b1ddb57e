import type { ApiContext } from "./door.ts";
import { approvals } from "./resources/approvals.ts";
import { artifacts } from "./resources/artifacts.ts";
import { audit } from "./resources/audit.ts";
import { calls } from "./resources/calls.ts";
import { canvas } from "./resources/canvas.ts";
import { channels } from "./resources/channels.ts";
import { configuration } from "./resources/configuration.ts";
import { events } from "./resources/events.ts";
import { jobs } from "./resources/jobs.ts";
import { mcp } from "./resources/mcp.ts";
import { playground } from "./resources/playground.ts";
import { policy } from "./resources/policy.ts";
import { questions } from "./resources/questions.ts";
import { schedules } from "./resources/schedules.ts";
import { health, openApi, server } from "./resources/server.ts";
import { session } from "./resources/session.ts";
import { sessions } from "./resources/sessions.ts";
import { statistics } from "./resources/statistics.ts";
import { tokens } from "./resources/tokens.ts";
import { tools } from "./resources/tools.ts";
import { changes, undo } from "./resources/undo.ts";
import type { Resource } from "./route.ts";

/** Everything the server has, one file each: a further capability adds its own here. */
export const RESOURCES: readonly Resource<ApiContext>[] = [
  health,
  server,
  session,
  tokens,
  tools,
  calls,
  approvals,
  policy,
  playground,
  audit,
  statistics,
  changes,
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
  openApi,
];
