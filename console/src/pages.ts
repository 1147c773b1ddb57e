import {
  Activity,
  CalendarClock,
  ChartColumn,
  FileStack,
  FlaskConical,
  Footprints,
  ListTodo,
  MessagesSquare,
  Plug,
  Presentation,
  Scale,
  ScrollText,
  Send,
  Settings,
  ShieldQuestion,
  Wrench,
} from "lucide-react";
import { defineWords } from "./language.tsx";
import { lazyPage } from "./lazy-page.tsx";
import type { Page } from "./page.ts";
import WorkView from "./pages/work/work-view.tsx";

/** Shown only until the first steps are done or dismissed. */
export const welcomePage: Page = {
  path: "welcome",
  section: "work",
  icon: Footprints,
  words: defineWords({ title: ["First steps", "快速上手"] }),
  view: lazyPage(() => import("./pages/welcome/welcome-view.tsx")),
};

/** In the order of the tabs of a section. The first page of a section is the one that its entry opens. */
export const PAGES: readonly Page[] = [
  {
    path: "work",
    aliases: ["calls"],
    section: "work",
    icon: Activity,
    words: defineWords({ title: ["Work", "工作"] }),
    // Where people begin: not behind another round trip.
    view: Object.assign(WorkView, { reset() {} }),
  },
  welcomePage,
  {
    path: "approvals",
    section: "approvals",
    icon: ShieldQuestion,
    words: defineWords({ title: ["Approvals", "审批"] }),
    view: lazyPage(() => import("./pages/approvals/approvals-view.tsx")),
  },
  {
    path: "tools",
    section: "tools",
    icon: Wrench,
    words: defineWords({ title: ["Tools", "工具"] }),
    view: lazyPage(() => import("./pages/tools/tools-view.tsx")),
  },
  {
    path: "playground",
    section: "tools",
    icon: FlaskConical,
    words: defineWords({ title: ["Playground", "演练场"] }),
    view: lazyPage(() => import("./pages/playground/playground-view.tsx")),
  },
  {
    path: "sessions",
    section: "agents",
    icon: MessagesSquare,
    words: defineWords({ title: ["Sessions", "会话"] }),
    view: lazyPage(() => import("./pages/sessions/sessions-view.tsx")),
    needs: "sessions",
  },
  {
    path: "artifacts",
    section: "agents",
    icon: FileStack,
    words: defineWords({ title: ["Artifacts", "文档"] }),
    view: lazyPage(() => import("./pages/artifacts/artifacts-view.tsx")),
    needs: "artifacts",
  },
  {
    path: "canvas",
    section: "agents",
    icon: Presentation,
    words: defineWords({ title: ["Canvas", "画布"] }),
    view: lazyPage(() => import("./pages/canvas/canvas-view.tsx")),
    needs: "canvas",
  },
  {
    path: "jobs",
    section: "automations",
    icon: ListTodo,
    words: defineWords({ title: ["Jobs", "作业"] }),
    view: lazyPage(() => import("./pages/jobs/jobs-view.tsx")),
    needs: "jobs",
  },
  {
    path: "schedules",
    section: "automations",
    icon: CalendarClock,
    words: defineWords({ title: ["Schedules", "定时"] }),
    view: lazyPage(() => import("./pages/schedules/schedules-view.tsx")),
    needs: "schedules",
  },
  {
    path: "policy",
    section: "policy",
    icon: Scale,
    words: defineWords({ title: ["Policy", "策略"] }),
    view: lazyPage(() => import("./pages/policy/policy-view.tsx")),
    needs: "policy",
  },
  {
    path: "mcp",
    section: "connections",
    icon: Plug,
    words: defineWords({ title: ["MCP servers", "MCP 服务器"] }),
    view: lazyPage(() => import("./pages/mcp/mcp-view.tsx")),
    needs: "mcp",
  },
  {
    path: "channels",
    section: "connections",
    icon: Send,
    words: defineWords({ title: ["Channels", "消息渠道"] }),
    view: lazyPage(() => import("./pages/channels/channels-view.tsx")),
    needs: "channels",
  },
  {
    path: "audit",
    section: "audit",
    icon: ScrollText,
    words: defineWords({ title: ["Audit log", "审计日志"] }),
    view: lazyPage(() => import("./pages/audit/audit-view.tsx")),
    needs: "audit",
  },
  {
    path: "statistics",
    section: "audit",
    icon: ChartColumn,
    words: defineWords({ title: ["Statistics", "统计"] }),
    view: lazyPage(() => import("./pages/statistics/statistics-view.tsx")),
  },
  {
    path: "settings",
    section: "settings",
    icon: Settings,
    words: defineWords({ title: ["Settings", "设置"] }),
    view: lazyPage(() => import("./pages/settings/settings-view.tsx")),
  },
];
