/** One text for equal data, whatever the order of its keys: what fingerprints and cache keys are made of. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const { toJSON } = value as { toJSON?: () => unknown };
    if (typeof toJSON === "function") return canonicalJson(toJSON.call(value));
    // They have no fields: as plain objects all of them would be equal.
    if (value instanceof Map) return `Map${canonicalJson([...value])}`;
    if (value instanceof Set) return `Set${canonicalJson([...value])}`;
    const fields = Object.entries(value)
      .filter(([, field]) => field !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`);
    return `{${fields.join(",")}}`;
  }
  if (typeof value === "bigint") return `${value}n`;
  return JSON.stringify(value) ?? "null";
}
