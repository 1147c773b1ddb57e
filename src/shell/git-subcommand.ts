const GIT_OPTION_WITH_VALUE = new Set([
  "-C",
  "-c",
  "--git-dir",
  "--work-tree",
  "--namespace",
  "--config-env",
  "--exec-path",
]);

/** The words from the subcommand on, without the options that stand before it. */
export function gitSubcommand(words: readonly string[]): readonly string[] {
  let at = 0;
  while (at < words.length && words[at]?.startsWith("-")) at += GIT_OPTION_WITH_VALUE.has(words[at] as string) ? 2 : 1;
  return words.slice(at);
}
