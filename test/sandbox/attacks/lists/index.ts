import type { Attack, AttackList } from "./attack.ts";
import { REACH_KERNEL } from "./kernel.ts";
import { OPEN_CONNECTIONS } from "./network.ts";
import { REACH_PROCESSES } from "./processes.ts";
import { USE_PROJECT_TOOLS } from "./projects.ts";
import { READ_SECRETS, REACH_SECRETS } from "./read-secrets.ts";
import { CHANGE_METADATA, WRITE_FILES } from "./write-files.ts";

export interface NamedAttack extends Attack {
  list: string;
  name: string;
}

const LISTS: Readonly<Record<string, AttackList>> = {
  read: READ_SECRETS,
  reach: REACH_SECRETS,
  write: WRITE_FILES,
  metadata: CHANGE_METADATA,
  process: REACH_PROCESSES,
  network: OPEN_CONNECTIONS,
  kernel: REACH_KERNEL,
  project: USE_PROJECT_TOOLS,
};

export const ATTACKS: readonly NamedAttack[] = Object.entries(LISTS).flatMap(([list, attacks]) =>
  Object.entries(attacks).map(([name, attack]) => ({
    list,
    name,
    ...(typeof attack === "string" ? { run: attack } : attack),
  })),
);
