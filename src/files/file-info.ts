import type { BigIntStats } from "node:fs";
import type { EntryKind } from "./undo-journal.ts";

export interface FileInfo {
  /** Where it really lies. */
  real: string;
  type: EntryKind;
  size: number;
  /** Permission bits. */
  mode: number;
  modifiedMs: number;
  createdMs: number;
  /** More than one: other names share the content, perhaps outside the allowed paths. That cannot be seen from here. */
  links: number;
  /** Changes when the content may have: device, inode, size and time of change. Not when only permissions do. */
  stamp: string;
  /** Where the link leads, as written in it, when the path named a symbolic link. */
  linkTarget?: string;
}

export function infoOf(real: string, stat: BigIntStats): FileInfo {
  return {
    real,
    type: kindOf(stat),
    size: Number(stat.size),
    mode: Number(stat.mode & 0o7777n),
    modifiedMs: Number(stat.mtimeMs),
    createdMs: Number(stat.birthtimeMs),
    links: Number(stat.nlink),
    stamp: stampOf(stat),
  };
}

export function stampOf(stat: BigIntStats): string {
  return `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}`;
}

export function kindOf(stat: BigIntStats): EntryKind {
  if (stat.isFile()) return "file";
  if (stat.isDirectory()) return "directory";
  return stat.isSymbolicLink() ? "symlink" : "other";
}
