import { Info, type LucideIcon, OctagonAlert, ShieldCheck, TriangleAlert } from "lucide-react";
import type { RiskLevel } from "../../../src/contracts/basics.ts";
import { defineWords, useWords } from "../language.tsx";

const words = defineWords({
  levels: {
    low: ["Low risk", "低风险"],
    medium: ["Medium risk", "中风险"],
    high: ["High risk", "高风险"],
    critical: ["Critical", "极高风险"],
  },
  short: { low: ["Low", "低"], medium: ["Medium", "中"], high: ["High", "高"], critical: ["Critical", "极高"] },
});

const ICONS: Readonly<Record<RiskLevel, LucideIcon>> = {
  low: ShieldCheck,
  medium: Info,
  high: TriangleAlert,
  critical: OctagonAlert,
};

/** The risk of a call: colour, icon and word. `short` leaves out the word "risk", for rows. */
export function RiskBadge({ level, short = false }: { level: RiskLevel; short?: boolean }) {
  const w = useWords(words);
  const Icon = ICONS[level];
  return (
    <span className={`badge risk risk-${level}`} title={w.levels[level]}>
      <Icon size={13} aria-hidden />
      {short ? w.short[level] : w.levels[level]}
    </span>
  );
}

/** The names of the levels, for filters and sentences. */
export function useRiskNames(): Readonly<Record<RiskLevel, string>> {
  return useWords(words).levels;
}
