import { lstatSync, readdirSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import type { CallTable } from "./call-table.ts";
import { type Architecture, O_CLOEXEC, O_NOFOLLOW, O_PATH, requiredCall } from "./system-calls.ts";

/** Rights of the kernel's Landlock interface on files and folders. */
const RIGHT = {
  execute: 0x1,
  writeFile: 0x2,
  readFile: 0x4,
  readFolder: 0x8,
  removeFolder: 0x10,
  removeFile: 0x20,
  makeFolder: 0x80,
  makeFile: 0x100,
  makeSocket: 0x200,
  makePipe: 0x400,
  makeLink: 0x1000,
  /** ABI 2: move or link a file to another folder. */
  refer: 0x2000,
  /** ABI 3. */
  truncate: 0x4000,
  /** ABI 5: control a device. */
  controlDevice: 0x8000,
} as const;

const READ = RIGHT.execute | RIGHT.readFile | RIGHT.readFolder;

const CHANGE_ENTRIES =
  RIGHT.removeFolder |
  RIGHT.removeFile |
  RIGHT.makeFolder |
  RIGHT.makeFile |
  RIGHT.makeSocket |
  RIGHT.makePipe |
  RIGHT.makeLink |
  RIGHT.refer;

/** What a rule allows below its path. */
export const ACCESS = {
  list: RIGHT.readFolder,
  readFile: RIGHT.readFile,
  read: READ,
  /** Existing files only. */
  change: RIGHT.readFile | RIGHT.writeFile | RIGHT.truncate,
  device: RIGHT.readFile | RIGHT.writeFile | RIGHT.truncate | RIGHT.controlDevice,
  write: READ | RIGHT.writeFile | CHANGE_ENTRIES | RIGHT.truncate,
  /** Opens nothing for reading: for overlays over what a command must not see. */
  writeOnly: RIGHT.writeFile | CHANGE_ENTRIES | RIGHT.truncate,
} as const;

/** The kernel refuses other rights in a rule for a file. */
const RIGHTS_OF_FILES = RIGHT.execute | RIGHT.writeFile | RIGHT.readFile | RIGHT.truncate | RIGHT.controlDevice;

/** All rights that a version of the interface knows. What no rule allows is refused. */
export function handledRights(abi: number): number {
  if (abi >= 5) return 0xffff;
  if (abi >= 3) return 0x7fff;
  return abi === 2 ? 0x3fff : 0x1fff;
}

export interface PathRule {
  path: string;
  access: number;
  isFolder: boolean;
}

export interface LandlockRules {
  abi: number;
  paths: readonly PathRule[];
  /** Whether TCP connections are allowed. Used only if the network is limited by other means. */
  network: boolean;
}

const AT_FDCWD = -100;
const RULE_FOR_PATH = 1;
const TCP_BIND_AND_CONNECT = 3;
const ABSTRACT_SOCKETS_AND_SIGNALS = 3;
/** All descriptors were closed before, so these are the next free ones. */
const RULESET = 3;
const OPENED_PATH = 4;

/** Adds the calls that restrict the process. Descriptors 3 and 4 must be free. */
export function addLandlock(table: CallTable, architecture: Architecture, rules: LandlockRules): void {
  const { abi, paths, network } = rules;
  const number = (name: Parameters<typeof requiredCall>[1]): number => requiredCall(architecture, name);
  const handled = handledRights(abi);
  const attributes = table.words(handled, network ? 0 : TCP_BIND_AND_CONNECT, ABSTRACT_SOCKETS_AND_SIGNALS);
  const attributeBytes = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
  table.call(number("landlock_create_ruleset"), [attributes, attributeBytes, 0]);
  const openFlags = O_PATH | O_CLOEXEC | O_NOFOLLOW[architecture];
  for (const { path, access, isFolder } of paths) {
    const allowed = (isFolder ? access : access & RIGHTS_OF_FILES) & handled;
    if (allowed === 0) continue;
    const rule = Buffer.alloc(12);
    rule.writeBigUInt64LE(BigInt(allowed));
    const at = table.data(rule);
    // A path that is gone is skipped: a missing rule allows less.
    table.call(number("openat"), [AT_FDCWD, table.text(path), openFlags, 0], { store: at.plus(8), skipOnError: 2 });
    table.try(number("landlock_add_rule"), [RULESET, RULE_FOR_PATH, at, 0]);
    table.call(number("close"), [OPENED_PATH]);
  }
  table.call(number("landlock_restrict_self"), [RULESET, 0]);
  table.call(number("close"), [RULESET]);
}

const SIGNALS = 2;

/** From here on the process can signal only itself and what it starts. For ABI 6. Descriptor 3 must be free. */
export function scopeSignals(table: CallTable, architecture: Architecture): void {
  const number = (name: Parameters<typeof requiredCall>[1]): number => requiredCall(architecture, name);
  table.call(number("landlock_create_ruleset"), [table.words(0, 0, SIGNALS), 24, 0]);
  table.call(number("landlock_restrict_self"), [RULESET, 0]);
  table.call(number("close"), [RULESET]);
}

/** Paths that no rule may open, and files that no rule may open under another name. */
export interface ClosedPaths {
  /** Real paths of files and folders. */
  paths: ReadonlySet<string>;
  /** `inodeOf` files that have further names. */
  inodes: ReadonlySet<string>;
}

export interface SplitRules {
  rules: PathRule[];
  /** Folders that were split. A new entry in one needs a new rule. */
  folders: string[];
}

/**
 * Rules that give access to a real path except to the closed paths below it. Rules cannot subtract: every folder on the
 * way to a closed path is split, its names stay visible, and each other entry gets a rule of its own.
 */
export function splitAround(root: string, access: number, closed: ClosedPaths): SplitRules {
  const result: SplitRules = { rules: [], folders: [] };
  const info = lstatSync(root, { throwIfNoEntry: false });
  // A rule through a link would open its target.
  if (!info || info.isSymbolicLink() || closed.paths.has(root)) return result;
  const prefix = root === "/" ? "/" : `${root}/`;
  const onTheWay = new Set<string>();
  for (const path of closed.paths) {
    if (!path.startsWith(prefix)) continue;
    for (let folder = dirname(path); !onTheWay.has(folder); folder = dirname(folder)) {
      onTheWay.add(folder);
      if (folder === root) break;
    }
  }
  const visit = (path: string, isFolder: boolean): void => {
    if (!onTheWay.has(path)) {
      result.rules.push({ path, access, isFolder });
      return;
    }
    result.folders.push(path);
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      const child = join(path, entry.name);
      if (entry.isSymbolicLink() || closed.paths.has(child)) continue;
      if (closed.inodes.size > 0 && isClosed(child, closed)) continue;
      visit(child, entry.isDirectory());
    }
  };
  // One rule for the names of all folders below.
  if (onTheWay.size > 0) result.rules.push({ path: root, access: ACCESS.list, isFolder: true });
  visit(root, info.isDirectory());
  return result;
}

function isClosed(path: string, { inodes }: ClosedPaths): boolean {
  const info = lstatSync(path, { throwIfNoEntry: false });
  return info !== undefined && inodes.has(inodeOf(info));
}

/** Identifies a file under all its names. The time of its creation tells it from an earlier file with the same number. */
export function inodeOf({ dev, ino, birthtimeMs }: Pick<Stats, "dev" | "ino" | "birthtimeMs">): string {
  return `${dev}:${ino}:${birthtimeMs}`;
}
