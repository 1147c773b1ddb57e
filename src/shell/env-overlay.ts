import { toolError } from "../core/error.ts";
import type { ToolError } from "../core/error.ts";
import { isDeniedEnvName } from "./denied-env-names.ts";

/** What a session has set on top of the environment that its commands get. */
export interface EnvOverlay {
  /** Returns the value that was set before. */
  set(name: string, value: string): string | undefined;
  get(name: string): string | undefined;
  unset(name: string): string | undefined;
  entries(): IterableIterator<[string, string]>;
}

/** The kernel takes no longer string than this, name and `=` included. */
const MAX_ENTRY_BYTES = 128 * 1024 - 1;
const MAX_NAMES = 256;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

export function createEnvOverlay(): EnvOverlay {
  const values = new Map<string, string>();
  return {
    set(name, value) {
      const refusal = refuseEnvEntry(name, value);
      if (refusal) throw refusal;
      const previous = values.get(name);
      if (previous === undefined && values.size >= MAX_NAMES) {
        throw toolError("too_large", `This session has set ${MAX_NAMES} variables already.`, {
          next: "Unset some, or put the values into a file.",
        });
      }
      values.set(name, value);
      return previous;
    },
    get: (name) => values.get(name),
    unset(name) {
      const previous = values.get(name);
      values.delete(name);
      return previous;
    },
    entries: () => values.entries(),
  };
}

/** Why a session may not set this, if it may not. The name is not repeated where it could carry control characters. */
export function refuseEnvEntry(name: string, value: string): ToolError | undefined {
  // `constructor` and the like are no environment names of anybody, but keys that objects answer to.
  if (!NAME.test(name) || name in Object.prototype || name === "prototype") {
    return toolError("invalid_input", "This is not a name of an environment variable.", {
      next: "Use letters, digits and underscores, not beginning with a digit.",
      data: { name },
    });
  }
  if (isDeniedEnvName(name)) {
    return toolError("name_denied", `The variable "${name}" may not be set: it can change what other programs run.`, {
      next: "Write it in front of the one command that needs it, which is then checked with it.",
      data: { name },
    });
  }
  if (value.includes("\0")) {
    return toolError("invalid_input", `The value of "${name}" contains a NUL character.`, { next: "Remove it." });
  }
  if (Buffer.byteLength(name) + 1 + Buffer.byteLength(value) > MAX_ENTRY_BYTES) {
    return toolError("input_too_large", `The value of "${name}" is longer than the system takes (128 KiB).`, {
      next: "Put it into a file and set the variable to its path.",
    });
  }
  return undefined;
}
