/** One text for equal data, whatever the order of its keys: what fingerprints and cache keys are made of. */
export function canonicalJson(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? writeList(value) : writeObject(value);
  if (typeof value === "bigint") return `${value}n`;
  return JSON.stringify(value) ?? "null";
}

function writeList(list: Iterable<unknown>): string {
  let text = "";
  for (const item of list) text += text === "" ? canonicalJson(item) : `,${canonicalJson(item)}`;
  return `[${text}]`;
}

function writeObject(value: object): string {
  const { toJSON } = value as { toJSON?: () => unknown };
  if (typeof toJSON === "function") return canonicalJson(toJSON.call(value));
  // They have no fields: as plain objects all of them would be equal.
  if (value instanceof Map) return `Map${writeList(value)}`;
  if (value instanceof Set) return `Set${writeList(value)}`;
  let text = "";
  // Every call of the gate passes here: plain loops, and no lists in between.
  for (const key of Object.keys(value).sort()) {
    const field = (value as Record<string, unknown>)[key];
    if (field !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(field)}`;
  }
  return `{${text}}`;
}
