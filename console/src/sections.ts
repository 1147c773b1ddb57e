import {
  Activity,
  Bot,
  CalendarClock,
  type LucideIcon,
  Plug,
  Scale,
  ScrollText,
  Settings,
  ShieldQuestion,
  Wrench,
} from "lucide-react";
import { defineWords, type Words } from "./language.tsx";

export type SectionId =
  | "work"
  | "approvals"
  | "tools"
  | "agents"
  | "automations"
  | "policy"
  | "connections"
  | "audit"
  | "settings";

/** An entry of the side bar: what a person wants to do. Its pages are tabs. */
export interface Section {
  id: SectionId;
  icon: LucideIcon;
  words: Words<{ title: string }>;
}

/** In the order of the side bar. */
export const SECTIONS: readonly Section[] = [
  { id: "work", icon: Activity, words: defineWords({ en: { title: "Work" }, zh: { title: "工作" } }) },
  { id: "approvals", icon: ShieldQuestion, words: defineWords({ en: { title: "Approvals" }, zh: { title: "审批" } }) },
  { id: "tools", icon: Wrench, words: defineWords({ en: { title: "Tools" }, zh: { title: "工具" } }) },
  { id: "agents", icon: Bot, words: defineWords({ en: { title: "Agents" }, zh: { title: "代理" } }) },
  {
    id: "automations",
    icon: CalendarClock,
    words: defineWords({ en: { title: "Automations" }, zh: { title: "自动化" } }),
  },
  { id: "policy", icon: Scale, words: defineWords({ en: { title: "Policy" }, zh: { title: "策略" } }) },
  { id: "connections", icon: Plug, words: defineWords({ en: { title: "Connections" }, zh: { title: "连接" } }) },
  { id: "audit", icon: ScrollText, words: defineWords({ en: { title: "Audit" }, zh: { title: "审计" } }) },
  { id: "settings", icon: Settings, words: defineWords({ en: { title: "Settings" }, zh: { title: "设置" } }) },
];

/** At the foot of a phone. The other sections are under "More". */
export const PHONE_SECTIONS: readonly SectionId[] = ["work", "approvals", "tools", "agents"];
