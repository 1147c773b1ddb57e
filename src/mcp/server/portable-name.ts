import { createHash } from "node:crypto";

/** Cursor drops tools whose name is longer than 60 characters together with the server's; model APIs take these characters. */
const PORTABLE = /^[A-Za-z0-9_-]{1,40}$/;
const MAX_KEPT = 31;

/** The name under which clients are told of a tool: its own, where every client can take it. */
export function toPortableName(name: string): string {
  if (PORTABLE.test(name)) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, MAX_KEPT)}_${hash}`;
}

/** Whether a name may have been made here of another one. */
export function isMadePortable(name: string): boolean {
  return /_[0-9a-f]{8}$/.test(name) && PORTABLE.test(name);
}
