import { HttpError } from "./door-error.ts";
import type { Query, QueryParameter } from "./route.ts";

/** What stands behind the `?`. Unknown names are refused: a filter that was misspelt must not look like one that matched all. */
export function readQuery(url: string, known: readonly QueryParameter[]): Query {
  const at = url.indexOf("?");
  const given = new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
  if (at >= 0) {
    for (const name of given.keys()) {
      if (known.some((each) => each.name === name)) continue;
      const names = known.map((each) => each.name).join(", ") || "none";
      throw new HttpError(
        "bad_request",
        `There is no query parameter "${name.slice(0, 50)}" here`,
        `There are: ${names}.`,
      );
    }
  }
  if ([...given.values()].some((value) => value.includes("\0"))) {
    throw new HttpError("bad_request", "A query parameter has a NUL character");
  }
  const text = (name: string): string | undefined => given.get(name) ?? undefined;
  return {
    text,
    number(name, { min = 0, max = Number.MAX_SAFE_INTEGER } = {}) {
      const value = text(name);
      if (value === undefined) return undefined;
      const number = /^-?\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
      if (number >= min && number <= max) return number;
      throw new HttpError("bad_request", `"${name}" must be a whole number from ${min} to ${max}`);
    },
  };
}
