import { realpath } from "node:fs/promises";
import { ConfigError } from "./config-problem.ts";
import { listTrustItems, type TrustItem, withoutPath } from "./list-trust-items.ts";
import { readSources } from "./read-sources.ts";
import { openTrustStore } from "./trust-store.ts";
import { type UserOptions, userPaths } from "./user-folder.ts";

/** Stands among the digests of a folder that a person has trusted, also where nothing in it needed that. */
const FOLDER = "folder";

export interface TrustStatus {
  folder: string;
  /** `changed`: some of it was trusted once, and some is new or has changed since. Nothing to trust is `trusted`. */
  status: "trusted" | "changed" | "untrusted";
  /** A person has trusted the folder, and nothing in it is new since: more than that there is nothing to trust. */
  isExplicit: boolean;
  /** Everything of the folder that counts only when it is trusted. */
  items: (TrustItem & { isTrusted: boolean })[];
}

/** What of a folder's configuration would execute or loosen something, and whether a person has agreed to it. */
export async function trustStatus(folder: string, options: UserOptions = {}): Promise<TrustStatus> {
  const user = userPaths(options);
  const real = await realpath(folder);
  const { sources, problems } = await readSources(real, user);
  if (problems.length > 0) throw new ConfigError(problems);
  const found = await Promise.all(
    sources.filter(({ origin }) => origin !== "user").map((source) => listTrustItems(source, real)),
  );
  const trusted = await openTrustStore(user).read(real);
  const items = found.flat().map((item) => ({ ...withoutPath(item), isTrusted: trusted.has(item.digest) }));
  const open = items.filter(({ isTrusted }) => !isTrusted);
  const status = open.length === 0 ? "trusted" : trusted.size > 0 ? "changed" : "untrusted";
  return { folder: real, status, isExplicit: open.length === 0 && trusted.has(FOLDER), items };
}

/**
 * Trusts what a person was shown: the digests of a `trustStatus`. Without them whatever is there now, which may have
 * changed since it was shown.
 */
export async function trust(
  folder: string,
  { digests, ...options }: UserOptions & { digests?: readonly string[] } = {},
): Promise<TrustStatus> {
  const { items } = await trustStatus(folder, options);
  const present = items.map(({ digest }) => digest);
  const agreed = digests ? present.filter((digest) => digests.includes(digest)) : present;
  // What is no longer there is forgotten: it asks again when it comes back.
  await openTrustStore(userPaths(options)).update(folder, (known) => [
    FOLDER,
    ...agreed,
    ...present.filter((digest) => known.has(digest)),
  ]);
  return trustStatus(folder, options);
}

/** Forgets all that was trusted in a folder, its saved "always" rules included. */
export async function distrust(folder: string, options: UserOptions = {}): Promise<void> {
  await openTrustStore(userPaths(options)).update(folder, () => []);
}
