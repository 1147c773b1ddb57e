/** Attacks that have an effect that is known and documented. */
export interface Exception {
  profile: "look" | "work";
  engines: readonly string[];
  /** Default: all. */
  attacks?: readonly string[];
  effect: RegExp;
  why: string;
}

const EXCEPTIONS: readonly Exception[] = [
  {
    profile: "look",
    engines: ["landlock", "perl", "landlock-1"],
    effect: /^printed argument$/,
    why: "the kernel shows the arguments of every process to every user; only a namespace of processes hides them",
  },
  {
    profile: "work",
    engines: ["landlock", "perl"],
    effect: /^printed argument$/,
    why: "the same",
  },
  ...(["look", "work"] as const).map((profile) => ({
    profile,
    engines: ["perl", "landlock-1"],
    effect: /^left \d+ processes$/,
    why: "these engines have no supervisor; Haft ends the processes that it finds by their group and their variables",
  })),
  {
    profile: "work",
    engines: ["landlock", "perl"],
    effect: /^changed attributes of \/(outside|home)(\/|$)/,
    why: "Landlock does not see modes, owners, times and attributes; only mounts protect those of other files",
  },
  {
    profile: "work",
    engines: ["landlock", "perl"],
    attacks: ["write: glob of everything", "write: find -delete"],
    effect: /^changed \/ws\/vendor\/lib\/\.git\//,
    why: "a repository that was deleted as a whole is not restored in parts",
  },
  {
    profile: "work",
    engines: ["landlock", "perl"],
    attacks: ["write: system folders"],
    effect: /^created \/dev\/shm\//,
    why: "programs need shared memory; only a namespace gives them one of their own",
  },
];

/** Whether everything that an attack reached is known. */
export function isException(
  { profile, engine }: { profile: string; engine: string },
  { attack, what }: { attack: string; what: readonly string[] },
): boolean {
  const known = EXCEPTIONS.filter(
    (one) => one.profile === profile && one.engines.includes(engine) && (one.attacks?.includes(attack) ?? true),
  );
  return what.every((effect) => known.some((one) => one.effect.test(effect)));
}
