const FRONT_MATTER = /^\uFEFF?---[ \t]*\r?\n(?:([\s\S]*?)\r?\n)?---[ \t]*(?:\r?\n|$)/;
/** The parser needs seconds for thousands of keys or brackets, also in one line. */
const MAX_LINES = 500;
const MAX_CHARACTERS = 16 * 1024;
const MAX_TOKENS = 1000;
const MAX_ITEMS = 200;
const MAX_BRACKETS = 40;
/** Values that are put in quotes. A file with more is no front matter. */
const MAX_QUOTED = 50;
const TOP_LEVEL = /^([A-Za-z_][\w-]*):[ \t]+(\S.*?)[ \t]*$/;

/** A Markdown file with YAML between two lines of `---` at its beginning. */
export interface FrontMatter {
  /** Undefined if the file has none. */
  head?: Readonly<Record<string, unknown>>;
  body: string;
  /** It is no valid YAML, and was read anyway: what to correct. */
  warning?: string;
}

/** Reads Markdown with YAML at its beginning. Values that only other programs accept are text, with a warning. */
export async function readFrontMatter(text: string): Promise<FrontMatter> {
  const [whole, yaml] = FRONT_MATTER.exec(text) ?? [];
  if (whole === undefined) return { body: text.trim() };
  const body = text.slice(whole.length).trim();
  await requireSmall(yaml ?? "");
  const first = await parse(yaml ?? "");
  if (first.problem === undefined) return { head: first.head, body };
  const { text: quoted, keys } = await quoteValues(yaml ?? "");
  const again = keys.length === 0 ? first : await parse(quoted);
  if (again.problem !== undefined) throw new Error(`its front matter is not valid YAML: ${first.problem}`);
  const named = keys.map((key) => `\`${key}\``).join(" and ");
  return { head: again.head, body, warning: `${named} is not valid YAML and is read as text: put it in quotes` };
}

/** Throws if the parser could block for long. */
async function requireSmall(yaml: string): Promise<void> {
  if (yaml.split("\n", MAX_LINES + 1).length > MAX_LINES) {
    throw new Error(`its front matter has more than ${MAX_LINES} lines`);
  }
  if (yaml.length > MAX_CHARACTERS) throw new Error(`its front matter has more than ${MAX_CHARACTERS} characters`);
  const { Lexer } = await import("yaml");
  let tokens = 0;
  let items = 0;
  let brackets = 0;
  for (const token of new Lexer().lex(yaml)) {
    tokens += 1;
    if (token === "-") items += 1;
    if (token === "[" || token === "{" || token === "?") brackets += 1;
    if (tokens > MAX_TOKENS || items > MAX_ITEMS || brackets > MAX_BRACKETS)
      throw new Error("its front matter has too many keys and lists");
  }
}

async function parse(yaml: string): Promise<{ head?: Record<string, unknown>; problem?: string }> {
  const { parseDocument } = await import("yaml");
  const document = parseDocument(yaml, { stringKeys: true, prettyErrors: false });
  const [error] = document.errors;
  if (error) return { problem: error.message };
  const head: unknown = document.toJS({ maxAliasCount: 10 });
  if (head === null || head === undefined) return { head: {} };
  const isObject = typeof head === "object" && !Array.isArray(head);
  return isObject ? { head: head as Record<string, unknown> } : { problem: "it has no keys" };
}

/** Puts values of the first level in quotes that are no YAML by themselves. */
async function quoteValues(yaml: string): Promise<{ text: string; keys: string[] }> {
  const keys: string[] = [];
  const lines: string[] = [];
  for (const line of yaml.split(/\r?\n/)) {
    const [, key, value] = TOP_LEVEL.exec(line) ?? [];
    const mayQuote = keys.length < MAX_QUOTED && key !== undefined && value !== undefined;
    const isWrong = mayQuote && (await parse(line)).problem !== undefined;
    if (isWrong) keys.push(key);
    lines.push(isWrong ? `${key}: ${JSON.stringify(value)}` : line);
  }
  return { text: lines.join("\n"), keys };
}
