/** Ready sets of tools, as the seed's table gives them. */
const PROFILES = {
  minimal: ["session_status"],
  coding: ["group:fs", "group:runtime", "group:sessions", "group:data"],
  messaging: ["group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"],
  full: ["*"],
} as const satisfies Record<string, readonly string[]>;

export type ProfileName = keyof typeof PROFILES;

export function profileNamed(name: string): readonly string[] {
  if (Object.hasOwn(PROFILES, name)) return PROFILES[name as ProfileName];
  throw new TypeError(`There is no profile "${name}". Profiles are: ${Object.keys(PROFILES).join(", ")}.`);
}
