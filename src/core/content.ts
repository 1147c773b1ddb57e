/** Content for a model: the blocks that MCP and every provider share. Data is base64. */
export type Content =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "audio"; data: string; mimeType: string }
  | { type: "resource"; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }
  | { type: "resource_link"; uri: string; name: string; title?: string; description?: string; mimeType?: string };

/** Makes a text block. */
export function text(value: string): Content {
  return { type: "text", text: value };
}

/** The text blocks of a content list, joined: what a text-only reader sees. */
export function textOf(content: readonly Content[]): string {
  if (content.length === 1 && content[0]?.type === "text") return content[0].text;
  const parts: string[] = [];
  for (const block of content) if (block.type === "text") parts.push(block.text);
  return parts.join("\n");
}

const REQUIRED: Record<Content["type"], readonly string[]> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource: ["resource"],
  resource_link: ["uri", "name"],
};

export function isContentList(value: unknown): value is Content[] {
  return Array.isArray(value) && value.every(isContent);
}

function isContent(value: unknown): value is Content {
  if (typeof value !== "object" || value === null) return false;
  const block = value as Record<string, unknown>;
  const type = block["type"];
  if (typeof type !== "string" || !Object.hasOwn(REQUIRED, type)) return false;
  return REQUIRED[type as Content["type"]].every((key) =>
    key === "resource" ? typeof block[key] === "object" && block[key] !== null : typeof block[key] === "string",
  );
}

/** One line for a person, cut to the usual width of a terminal. */
export function firstLine(text: string): string {
  if (text.length <= 120 && !text.includes("\n")) return text;
  const head = text.slice(0, 121);
  const end = head.indexOf("\n");
  const line = (end >= 0 ? head.slice(0, end) : head).slice(0, 119).trimEnd();
  // Do not end with half of a surrogate pair.
  return `${line.isWellFormed() ? line : line.slice(0, -1)}…`;
}

/** Counts what a text costs a model's context. */
export interface TokenCounter {
  /** The encoding, or "estimate". */
  readonly name: string;
  /** How many tokens a text has. */
  count(text: string): number;
}

/** Text of others, each line with a prefix: it cannot imitate the lines around it. */
export function quoteText(text: string): string {
  return text
    .split("\n")
    .map((line) => `| ${line}`.trimEnd())
    .join("\n");
}
