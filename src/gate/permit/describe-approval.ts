import { approvalParts, showInline, type ShownApproval, visibleLines } from "./approval-parts.ts";
import { ruleExamples as examplesOfRule } from "./rules/rule-examples.ts";

/** The approval request for a log or a message, complete: a call that cannot be shown in full was refused earlier. */
export function describeApproval(approval: ShownApproval): string[] {
  const { level } = approval.summary?.risk ?? {};
  const ruleExamples = approval.ruleExamples ?? approval.suggestedRules.map(examplesOfRule);
  const asks = approval.questions ? "asks a question" : "asks for permission";
  const title = `${showInline(approval.toolName)} ${asks} (${approval.id})`;
  return [
    level === undefined || approval.questions ? title : `${title}, risk: ${level}`,
    ...approvalParts({ ...approval, ruleExamples }).flatMap((part, at, parts): string[] => {
      switch (part.type) {
        case "risk":
          return [field("risk", part.value)];
        case "step": {
          const head = parts[at - 1]?.type === "step" ? [] : [field("command", "")];
          return [...head, ...showText(part.text), ...part.notes.map((note) => field("", note))];
        }
        case "text":
          return [field(part.name, part.value), ...(part.text === "" ? [] : showText(part.text))];
        case "fact":
          return [field(part.name, part.value)];
        case "rule":
          return [
            field("may save", part.value),
            ...(part.allows.length === 0 ? [] : [field("- allows", part.allows.join(" | "))]),
            ...(part.asks.length === 0 ? [] : [field("- asks for", part.asks.join(" | "))]),
          ];
      }
    }),
  ];
}

function field(name: string, value: string): string {
  return `  ${name.padEnd(10)} ${value}`.trimEnd();
}

/** Prefix of foreign text, which otherwise could imitate our own lines. */
const GUTTER = "  | ";
/** Text of others, line by line, in full. */
export function showText(text: string): string[] {
  return visibleLines(text).map((line) => (line === "" ? GUTTER.trimEnd() : GUTTER + line));
}
