/** What a saved rule lets a caller do. */
const ACTS = {
  values: "call {tool} with {values} and nothing else",
  partial: "call {tool} with {values}, whatever its other values are",
  subject: "call {tool} for {values}, whatever its other values are",
  plain: "call {tool} with no arguments",
  any: "call {tool} with any values",
  tools: "call every tool that {tool} stands for, with any values",
  changes: "change, replace or delete {paths} with any built-in tool or tool of your own",
  reads: "read {paths} with any built-in tool or tool of your own",
  commands: "run {commands} in any folder of the workspace",
  hosts: "send any request to {hosts} with {tool}",
  rules: "do everything that these rules allow: {rules}",
} as const;

/** Who may do it, and until when. `{act}` is one of the others. */
const REACHES = {
  session: "{who} (session {session}) may {act}, without asking, in this session, for 12 hours at most.",
  noSession: "{who} (calls without a session) may {act}, without asking, until Haft ends, for 12 hours at most.",
  task: "{who} may {act}, without asking, within these bounds: {bounds}.",
  process: "Every caller of this process may {act}, without asking, until the process ends or the rule is removed.",
  workspace: "Every caller in this workspace may {act}, without asking, until the rule is removed.",
  store:
    "Every caller of this store, in all its workspaces and on all machines, may {act}, without asking, until the rule is removed.",
} as const;

export type GrantAct = keyof typeof ACTS;
export type GrantReach = keyof typeof REACHES;
type GrantKey = `grant.${GrantReach}.${GrantAct}`;

/** A sentence for every reach and act. */
export function grantTexts(
  reaches: Readonly<Record<GrantReach, string>>,
  acts: Readonly<Record<GrantAct, string>>,
): Record<GrantKey, string> {
  const texts = Object.entries(reaches).flatMap(([reach, sentence]) =>
    Object.entries(acts).map(([act, text]) => [`grant.${reach}.${act}`, sentence.replace("{act}", () => text)]),
  );
  return Object.fromEntries(texts) as Record<GrantKey, string>;
}

export const GRANT_TEXTS = /* @__PURE__ */ grantTexts(REACHES, ACTS);
