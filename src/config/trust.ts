import { mkdir, open, realpath } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "../core/error.ts";
import { canonicalJson } from "../core/json.ts";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { withFileLock } from "../io/files/file-lock.ts";
import { isObject } from "../schema/json-schema.ts";
import { digestOf } from "./code-digests.ts";
import { noteLook } from "./config-watch.ts";
import { ConfigError } from "./problems.ts";
import { readSources } from "./sources.ts";
import { type UserOptions, userPaths, type UserPaths } from "./user-paths.ts";
import type { LocatedItem, TrustItem } from "./trust-items.ts";
import { listTrustItems, nameDigest, partsPrefix, withoutPath } from "./trust-items.ts";

/** A digest of every folder that a person has trusted, also if it had nothing to trust. */
const FOLDER = "folder";
/** Before the time at which a person trusted the folder as it was. */
const SINCE = "since:";
/** Before the digest of a part that a person has declined to trust: the question is not repeated until it changes. */
const DECLINED = "declined:";
/** Before the name of a part and what it was when it was trusted, to show both when it has changed. */
const WAS = "was:";

export interface TrustStatus {
  folder: string;
  /** `changed`: some parts were trusted, others are new or changed. `trusted` also if there is nothing to trust. */
  status: "trusted" | "changed" | "untrusted";
  /** A person has trusted the folder, and nothing in it is new or changed since. */
  isExplicit: boolean;
  /** When a person trusted the folder as a whole: instructions in it that changed later are not trusted. */
  trustedAt?: Date;
  /** The parts of the folder's configuration that need trust. */
  items: (TrustItem & { isTrusted: boolean; isDeclined: boolean })[];
}

/** Lists what in a folder's configuration would execute or loosen something, and whether a person has trusted it. */
export async function trustStatus(folder: string, options: UserOptions = {}): Promise<TrustStatus> {
  const { located: _located, ...status } = await readStatus(folder, options);
  return status;
}

async function readStatus(folder: string, options: UserOptions): Promise<TrustStatus & { located: LocatedItem[] }> {
  const user = userPaths(options);
  const real = await realpath(folder);
  const stored = [...(await openTrustStore(user).read(real))];
  const trusted = new Set(stored.filter((digest) => !digest.startsWith(DECLINED)));
  const since = stored.find((digest) => digest.startsWith(SINCE));
  const trustedAt = since === undefined ? undefined : new Date(Number(since.slice(SINCE.length)));
  const { sources, problems } = await readSources(real, user, trusted);
  if (problems.length > 0) throw new ConfigError(problems);
  const found = await Promise.all(
    sources.filter(({ origin }) => origin !== "user").map((source) => listTrustItems(source, real)),
  );
  const located = found.flat();
  const shown = new Set(located.map(({ what }) => what));
  const items = located.map((item) => {
    const isTrusted = trusted.has(item.digest);
    const was = stored.find((each) => each.startsWith(wasPrefix(item)))?.slice(wasPrefix(item).length);
    return {
      ...withoutPath(item),
      isTrusted,
      isChanged: !isTrusted && trusted.has(nameDigest(item)),
      changes: changesOf(item, trusted),
      // What is still there was moved, not changed.
      before: isTrusted || was === undefined || shown.has(was) ? undefined : was,
      isDeclined: stored.includes(DECLINED + item.digest),
    };
  });
  const open = items.filter(({ isTrusted }) => !isTrusted);
  const status = open.length === 0 ? "trusted" : trusted.size > 0 ? "changed" : "untrusted";
  return { folder: real, status, isExplicit: open.length === 0 && trusted.has(FOLDER), trustedAt, items, located };
}

function wasPrefix({ kind, name, path, file }: TrustItem): string {
  return `${WAS}${digestOf(canonicalJson([kind, name ?? path, file]))}:`;
}

/** Undefined if no parts are stored: by earlier versions none were. */
function changesOf(item: LocatedItem, trusted: ReadonlySet<string>): string[] | undefined {
  if (trusted.has(item.digest) || partsIn(trusted, item).length === 0) return undefined;
  return item.parts.filter(([, stored]) => !trusted.has(stored)).map(([shown]) => shown);
}

function partsIn(trusted: ReadonlySet<string>, item: TrustItem): string[] {
  return [...trusted].filter((digest) => digest.startsWith(partsPrefix(item)));
}

/**
 * Trusts what a person was shown: the digests of a `trustStatus`. If omitted, trusts the current content, which may have
 * changed since it was shown. In a trusted folder, an agreement to some parts does not cover instructions that changed.
 */
export async function trust(
  folder: string,
  { digests, ...options }: UserOptions & { digests?: readonly string[] } = {},
): Promise<TrustStatus> {
  const { located } = await readStatus(folder, options);
  const isAgreed = (item: TrustItem): boolean => digests?.includes(item.digest) ?? true;
  // Parts that no longer exist lose their trust: they need it again if they come back.
  await openTrustStore(userPaths(options)).update(folder, (known) => [
    FOLDER,
    ...sinceOf(known, { isPart: digests !== undefined && digests.length > 0 }),
    ...located.flatMap((item) => {
      const name = nameDigest(item);
      const parts = item.parts.map(([, stored]) => stored);
      if (isAgreed(item) || known.has(item.digest)) return [item.digest, name, wasPrefix(item) + item.what, ...parts];
      const was = [...known].filter((each) => each.startsWith(wasPrefix(item)));
      return [...was, ...(known.has(name) ? [name, ...partsIn(known, item)] : [])];
    }),
  ]);
  return trustStatus(folder, options);
}

function sinceOf(known: ReadonlySet<string>, { isPart }: { isPart: boolean }): string[] {
  if (isPart && known.has(FOLDER)) return [...known].filter((digest) => digest.startsWith(SINCE));
  return [`${SINCE}${Date.now()}`];
}

/** Remembers that a person was asked about these parts and did not trust them. */
export async function declineTrust(
  folder: string,
  digests: readonly string[],
  options: UserOptions = {},
): Promise<void> {
  await openTrustStore(userPaths(options)).update(folder, (known) => [
    ...known,
    ...digests.map((digest) => DECLINED + digest),
  ]);
}

/** Removes all trust from a folder, also that of saved "always" rules. */
export async function distrust(folder: string, options: UserOptions = {}): Promise<void> {
  await openTrustStore(userPaths(options)).update(folder, () => []);
}

interface TrustedFolder {
  digests: string[];
}

/** What a person trusts, by folder. In the user's configuration folder, which no workspace can write. */
export interface TrustStore {
  /** The digests that are trusted in a folder. */
  read(folder: string): Promise<ReadonlySet<string>>;
  update(folder: string, change: (digests: ReadonlySet<string>) => Iterable<string>): Promise<void>;
}

export function openTrustStore({ folder: userFolder }: Pick<UserPaths, "folder">): TrustStore {
  const file = join(userFolder, "trust.json");
  return {
    async read(folder) {
      const folders = await readFolders(file);
      return new Set(folders.get(await realpath(folder))?.digests);
    },
    async update(folder, change) {
      await mkdir(userFolder, { recursive: true, mode: 0o700 });
      const real = await realpath(folder);
      await withFileLock(file, async () => {
        const folders = await readFolders(file);
        const digests = [...new Set(change(new Set(folders.get(real)?.digests)))].sort();
        if (digests.length > 0) folders.set(real, { digests });
        else folders.delete(real);
        const text = JSON.stringify({ version: 1, folders: Object.fromEntries(folders) }, null, 2);
        const files = createFiles(createPathPolicy({ workspace: userFolder }));
        await files.writeFileAtomic("trust.json", Buffer.from(`${text}\n`), { mode: 0o600 });
      });
    },
  };
}

/** Throws if others can write the file, or if it cannot be read: it proves nothing then. */
async function readFolders(file: string): Promise<Map<string, TrustedFolder>> {
  const fail = (message: string, cause?: unknown) => new ConfigError([{ file, message }], { cause });
  let handle: Awaited<ReturnType<typeof open>>;
  noteLook(file);
  try {
    handle = await open(file, "r");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return new Map();
    throw fail("Cannot be read. Fix its permissions, or remove it and trust your folders again.", error);
  }
  try {
    const info = await handle.stat();
    if (process.getuid && (info.uid !== process.getuid() || (info.mode & 0o022) !== 0)) {
      throw fail("Can be written by other users. Remove it, and trust your folders again.");
    }
    const parsed: unknown = JSON.parse(await handle.readFile("utf8"));
    const folders = isObject(parsed) && parsed["version"] === 1 ? parsed["folders"] : undefined;
    if (!isObject(folders)) throw fail("Has another version. Update Haft, or remove it and trust your folders again.");
    return new Map(
      Object.entries(folders).map(([folder, record]) => {
        const digests = isObject(record) && Array.isArray(record["digests"]) ? record["digests"] : [];
        return [folder, { digests: digests.filter((each) => typeof each === "string") }];
      }),
    );
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw fail("Is damaged. Remove it, and trust your folders again.", error);
  } finally {
    await handle.close();
  }
}
