/** What stands in a path for the `{names}` of a pattern; undefined where the path is another one. */
export function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const parts = path.split("/");
  const wanted = pattern.split("/");
  if (parts.length !== wanted.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, name] of wanted.entries()) {
    const part = parts[at]!;
    if (name.startsWith("{")) params[name.slice(1, -1)] = decode(part);
    else if (name !== part) return undefined;
  }
  return params;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
