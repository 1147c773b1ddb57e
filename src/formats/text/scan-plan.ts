import { allSections, textFormat } from "./format-table.ts";
import { markerSet, type MarkerSet } from "./marker-set.ts";
import { TEXT_FORMATS, type Section, type TextFormatName } from "./text-format.ts";
import type { ToolTable } from "./tool-table.ts";

/** What text is searched for, and what each marker means. */
export interface ScanPlan {
  readonly markers: MarkerSet;
  readonly meanings: ReadonlyMap<string, MarkerMeaning>;
  readonly reasoningEnds: MarkerSet;
  /** In reasoning that the prompt opened: what ends it, calls included where the format lets them. */
  readonly openReasoningEnds: MarkerSet;
}

export type MarkerMeaning =
  | { type: "section"; section: Section }
  | { type: "reasoning"; close: MarkerSet }
  | { type: "reasoning_end" }
  | { type: "plumbing" }
  | { type: "fence" };

const COMMON_REASONING: readonly (readonly [string, string])[] = [["<think>", "</think>"]];
export function createScanPlan(format: TextFormatName | "auto", tools: ToolTable): ScanPlan {
  const formats = (format === "auto" ? TEXT_FORMATS : [format]).map(textFormat);
  const sections = format === "auto" ? allSections(tools) : textFormat(format).sections(tools);
  const reasoning = [...COMMON_REASONING, ...formats.flatMap((each) => each.reasoning ?? [])];
  const meanings = new Map<string, MarkerMeaning>();
  const add = (marker: string, meaning: MarkerMeaning): void => {
    if (!meanings.has(marker)) meanings.set(marker, meaning);
  };
  for (const section of sections) for (const marker of section.open) add(marker, { type: "section", section });
  for (const [open, close] of reasoning) add(open, { type: "reasoning", close: markerSet([close]) });
  for (const [, close] of reasoning) add(close, { type: "reasoning_end" });
  for (const marker of formats.flatMap((each) => each.plumbing ?? [])) add(marker, { type: "plumbing" });
  if (sections.some(({ isProseInCode }) => isProseInCode)) add("```", { type: "fence" });

  const closes = reasoning.map(([, close]) => close);
  const endsReasoning = formats.length === 1 && formats[0]!.callEndsReasoning;
  return {
    markers: markerSet([...meanings.keys()]),
    meanings,
    reasoningEnds: markerSet(closes),
    openReasoningEnds: markerSet(endsReasoning ? [...closes, ...sections.flatMap(({ open }) => open)] : closes),
  };
}
