import type { Clock } from "../../core/clock.ts";
import type { AnyTool } from "../../core/tool.ts";
import type { SessionAccess } from "./session-access.ts";
import { createSessionStatusTool } from "./session-status.ts";
import { createSessionsHistoryTool } from "./sessions-history.ts";
import { createSessionsListTool } from "./sessions-list.ts";
import { createSessionsSendTool } from "./sessions-send.ts";
import { createSessionsSpawnTool } from "./sessions-spawn.ts";
import { createSessionsStopTool } from "./sessions-stop.ts";

/** The tools by which sessions see, ask, start and stop each other. */
export function createSessionTools(access: SessionAccess, { clock }: { clock: Clock }): AnyTool[] {
  return [
    createSessionsListTool(access),
    createSessionsHistoryTool(access),
    createSessionsSendTool(access),
    createSessionsSpawnTool(access),
    createSessionStatusTool(access, { clock }),
    createSessionsStopTool(access),
  ];
}
