import { HARMLESS_ENV_NAMES } from "./denied-env-names.ts";

const SAFE = new Set(
  `LANG LANGUAGE TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI COLUMNS LINES`.split(/\s+/),
);

/**
 * Whether a command that a rule allows is still that command with this variable set. A list of what is known to change
 * only what is printed or recorded: whatever is not on it may choose what runs.
 */
export function isSafeEnvName(name: string): boolean {
  return SAFE.has(name) || /^LC_[A-Z]+$/.test(name) || HARMLESS_ENV_NAMES.has(name);
}
