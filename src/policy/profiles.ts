import { didYouMean } from "../core/nearest-name.ts";

/** Ready sets of tools, as the seed's table gives them. */
const PROFILES = {
  minimal: ["session_status"],
  coding: ["group:fs", "group:runtime", "group:sessions", "group:data"],
  messaging: ["group:messaging", "sessions_list", "sessions_history", "session_status"],
  full: ["*"],
} as const satisfies Record<string, readonly string[]>;

/** A ready one, or one of the policy's own `profiles`. */
export type ProfileName = keyof typeof PROFILES | (string & {});

/** Sets of tools that a user names: names, groups and `*` patterns. */
export type Profiles = Readonly<Record<string, readonly string[]>>;

export function profileNamed(name: string, own: Profiles = {}): readonly string[] {
  if (isReadyProfile(name)) return PROFILES[name];
  if (Object.hasOwn(own, name)) return own[name]!;
  const names = [...Object.keys(PROFILES), ...Object.keys(own)];
  throw new TypeError(
    `There is no profile "${name}". ${didYouMean(name, names) ?? `Profiles are: ${names.join(", ")}.`}`,
  );
}

/** A user's own cannot take the place of a ready one: "full" means the same in every file. */
export function isReadyProfile(name: string): name is keyof typeof PROFILES {
  return Object.hasOwn(PROFILES, name);
}
