/** Finds the endpoint of a path. */

interface Found<Value> {
  readonly value: Value;
  readonly params: Readonly<Record<string, string>>;
}

interface Pattern<Value> {
  readonly path: string;
  /** Undefined for a parameter, which is in `names`. */
  readonly segments: readonly (string | undefined)[];
  readonly names: readonly string[];
  readonly methods: Map<string, Value>;
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** Paths such as `/api/jobs/{id}/cancel`, each with a value per method. A literal path is matched before one with parameters. */
export class RouteTable<Value> {
  readonly #literal = new Map<string, Map<string, Value>>();
  /** By the number of their segments. */
  readonly #patterns = new Map<number, Pattern<Value>[]>();

  add(method: string, path: string, value: Value): void {
    this.#methodsOf(path).set(method, value);
  }

  /** `allowed`: the path exists, but not with this method. */
  match(method: string, path: string): Found<Value> | { readonly allowed: readonly string[] } | undefined {
    const literal = this.#literal.get(path);
    const value = literal?.get(method);
    if (value !== undefined) return { value, params: NO_PARAMS };
    const allowed = new Set(literal?.keys());
    const segments = path.split("/");
    for (const pattern of this.#patterns.get(segments.length) ?? []) {
      const params = paramsOf(pattern, segments);
      if (!params) continue;
      const found = pattern.methods.get(method);
      if (found !== undefined) return { value: found, params };
      for (const other of pattern.methods.keys()) allowed.add(other);
    }
    return allowed.size > 0 ? { allowed: [...allowed] } : undefined;
  }

  #methodsOf(path: string): Map<string, Value> {
    if (!path.includes("{")) {
      const known = this.#literal.get(path) ?? new Map<string, Value>();
      this.#literal.set(path, known);
      return known;
    }
    const parts = path.split("/");
    const segments = parts.map((part) => (part.startsWith("{") ? undefined : part));
    const names = parts.filter((part) => part.startsWith("{")).map((part) => part.slice(1, -1));
    const patterns = this.#patterns.get(parts.length) ?? [];
    const same = patterns.find((pattern) => pattern.path === path);
    if (same) return same.methods;
    const methods = new Map<string, Value>();
    patterns.push({ path, segments, names, methods });
    // Those with fewer parameters first.
    this.#patterns.set(
      parts.length,
      patterns.sort((a, b) => a.names.length - b.names.length),
    );
    return methods;
  }
}

function paramsOf({ segments, names }: Pattern<unknown>, path: readonly string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  let parameter = 0;
  for (const [at, segment] of segments.entries()) {
    const given = path[at] ?? "";
    if (segment === undefined) {
      if (given === "") return undefined;
      params[names[parameter++] ?? ""] = decode(given);
    } else if (segment !== given) return undefined;
  }
  return params;
}

/** Text that is not valid percent-encoding stays as it is: nothing has such a name. */
function decode(text: string): string {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
