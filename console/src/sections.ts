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
  { id: "work", icon: Activity, words: defineWords({ title: ["Work", "工作"] }) },
  { id: "approvals", icon: ShieldQuestion, words: defineWords({ title: ["Approvals", "审批"] }) },
  { id: "tools", icon: Wrench, words: defineWords({ title: ["Tools", "工具"] }) },
  { id: "agents", icon: Bot, words: defineWords({ title: ["Agents", "代理"] }) },
  {
    id: "automations",
    icon: CalendarClock,
    words: defineWords({ title: ["Automations", "自动化"] }),
  },
  { id: "policy", icon: Scale, words: defineWords({ title: ["Policy", "策略"] }) },
  { id: "connections", icon: Plug, words: defineWords({ title: ["Connections", "连接"] }) },
  { id: "audit", icon: ScrollText, words: defineWords({ title: ["Audit", "审计"] }) },
  { id: "settings", icon: Settings, words: defineWords({ title: ["Settings", "设置"] }) },
];

/** At the foot of a phone. The other sections are under "More". */
export const PHONE_SECTIONS: readonly SectionId[] = ["work", "approvals", "tools", "agents"];
