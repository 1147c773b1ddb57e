import picomatch from "picomatch";
import { toolError } from "../../core/error.ts";

/** A pattern without a slash speaks of names, one with a slash of paths below the listed folder. */
export function compileNamePattern(pattern: string): (path: string) => boolean {
  if (pattern.length > 1_000) throw toolError("bad_pattern", "The pattern is too long", { next: "Use a shorter one." });
  try {
    return picomatch(pattern, { dot: true, basename: !pattern.includes("/") });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw toolError("bad_pattern", `The pattern ${JSON.stringify(pattern)} cannot be read: ${why}`, {
      next: "Use *, **, ? and {a,b} only.",
      cause,
    });
  }
}
