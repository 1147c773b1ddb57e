import { approvalsPage } from "./pages/approvals/approvals-page.ts";
import { artifactsPage } from "./pages/artifacts/artifacts-page.ts";
import { auditPage } from "./pages/audit/audit-page.ts";
import { canvasPage } from "./pages/canvas/canvas-page.ts";
import { callsPage } from "./pages/calls/calls-page.ts";
import { jobsPage } from "./pages/jobs/jobs-page.ts";
import { mcpPage } from "./pages/mcp/mcp-page.ts";
import { channelsPage } from "./pages/channels/channels-page.ts";
import type { Page } from "./page.ts";
import { playgroundPage } from "./pages/playground/playground-page.ts";
import { policyPage } from "./pages/policy/policy-page.ts";
import { schedulesPage } from "./pages/schedules/schedules-page.ts";
import { sessionsPage } from "./pages/sessions/sessions-page.ts";
import { statisticsPage } from "./pages/statistics/statistics-page.ts";
import { toolsPage } from "./pages/tools/tools-page.ts";

/** In the order of the side bar. */
export const PAGES: readonly Page[] = [
  toolsPage,
  approvalsPage,
  callsPage,
  sessionsPage,
  jobsPage,
  schedulesPage,
  artifactsPage,
  canvasPage,
  auditPage,
  policyPage,
  mcpPage,
  channelsPage,
  playgroundPage,
  statisticsPage,
];
