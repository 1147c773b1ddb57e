const numbered = new Map<string, string>();

/** `?` as PostgreSQL's `$1`, `$2`, …; not those in text, quoted names and comments. */
export function numberPlaceholders(sql: string): string {
  const known = numbered.get(sql);
  if (known !== undefined) return known;
  let count = 0;
  const text = sql.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*[\s\S]*?\*\/|\?/g, (part) =>
    part === "?" ? `$${++count}` : part,
  );
  if (numbered.size >= 1000) numbered.clear();
  numbered.set(sql, text);
  return text;
}
