import { approvalsPage } from "./pages/approvals/approvals-page.ts";
import { auditPage } from "./pages/audit/audit-page.ts";
import { callsPage } from "./pages/calls/calls-page.ts";
import { mcpPage } from "./pages/mcp/mcp-page.ts";
import type { Page } from "./page.ts";
import { policyPage } from "./pages/policy/policy-page.ts";
import { statisticsPage } from "./pages/statistics/statistics-page.ts";
import { toolsPage } from "./pages/tools/tools-page.ts";

/** In the order of the side bar. */
export const PAGES: readonly Page[] = [
  toolsPage,
  approvalsPage,
  callsPage,
  auditPage,
  policyPage,
  mcpPage,
  statisticsPage,
];
