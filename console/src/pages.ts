import type { Page } from "./page.ts";
import { approvalsPage } from "./pages/approvals/approvals-route.ts";
import { artifactsPage } from "./pages/artifacts/artifacts-route.ts";
import { auditPage } from "./pages/audit/audit-route.ts";
import { canvasPage } from "./pages/canvas/canvas-route.ts";
import { channelsPage } from "./pages/channels/channels-route.ts";
import { jobsPage } from "./pages/jobs/jobs-route.ts";
import { mcpPage } from "./pages/mcp/mcp-route.ts";
import { playgroundPage } from "./pages/playground/playground-route.ts";
import { policyPage } from "./pages/policy/policy-route.ts";
import { schedulesPage } from "./pages/schedules/schedules-route.ts";
import { sessionsPage } from "./pages/sessions/sessions-route.ts";
import { settingsPage } from "./pages/settings/settings-route.ts";
import { statisticsPage } from "./pages/statistics/statistics-route.ts";
import { toolsPage } from "./pages/tools/tools-route.ts";
import { welcomePage } from "./pages/welcome/welcome-route.ts";
import { workPage } from "./pages/work/work-route.ts";

/** In the order of the tabs of a section. The first page of a section is the one that its entry opens. */
export const PAGES: readonly Page[] = [
  workPage,
  welcomePage,
  approvalsPage,
  toolsPage,
  playgroundPage,
  sessionsPage,
  artifactsPage,
  canvasPage,
  jobsPage,
  schedulesPage,
  policyPage,
  mcpPage,
  channelsPage,
  auditPage,
  statisticsPage,
  settingsPage,
];
