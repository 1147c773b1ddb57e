/** Programs that run the command behind them as it is: a rule for that command is a rule for both. */
export const TRANSPARENT_WRAPPERS: ReadonlySet<string> = new Set([
  "timeout",
  "time",
  "nice",
  "nohup",
  "stdbuf",
  "command",
  "builtin",
  "noglob",
  "xargs",
]);

/** Programs that run what stands behind them in another way: their beginning says nothing about it. */
export const NO_PREFIX_RULES: ReadonlySet<string> = new Set([
  "watch",
  "setsid",
  "ionice",
  "flock",
  "script",
  "parallel",
]);
