import type { ToolDescription } from "./tool.ts";

export function toDescription(description: string | ToolDescription): ToolDescription {
  if (typeof description === "string") return { short: description };
  return { ...description };
}

/** The whole description as a model reads it. */
export function descriptionText(description: ToolDescription): string {
  const parts = [description.short];
  if (description.long) parts.push(description.long);
  if (description.usageNotes?.length) parts.push(["Usage notes:", ...description.usageNotes.map(bullet)].join("\n"));
  if (description.important?.length) parts.push(["Important:", ...description.important.map(bullet)].join("\n"));
  if (description.examples?.length) {
    const examples = description.examples.map(({ input, description: what }) =>
      bullet(`${JSON.stringify(input)}${what ? ` (${what})` : ""}`),
    );
    parts.push(["Examples:", ...examples].join("\n"));
  }
  return parts.join("\n\n");
}

function bullet(line: string): string {
  return `- ${line}`;
}
