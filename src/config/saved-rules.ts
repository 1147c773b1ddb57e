import { createHash } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Document, YAMLSeq } from "yaml";
import { errorCode } from "../core/error.ts";
import type { MaybePromise } from "../core/stage.ts";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { ensureStateFolder, STATE_FILES } from "../io/files/state-folder.ts";
import { isObject } from "../schema/json-schema.ts";
import { ConfigError } from "./problems.ts";
import { withFileLock } from "../io/files/file-lock.ts";
import { allowDigest, listTrustItems } from "./trust-items.ts";
import { parseConfigText, readConfigText } from "./config-text.ts";
import { type UserOptions, userPaths } from "./user-paths.ts";
import { openTrustStore } from "./trust.ts";

type RuleList = "allow" | "ask" | "deny";

const HEADER = ' Rules that were answered with "always" in this workspace. You may edit this file.\n';

/**
 * Adds a rule to `config.yml` in the state folder and keeps its comments. An allow rule becomes trusted as well: a person
 * has just agreed to it. The state folder must have been opened before (`openStateFolder`). Returns the path of the file.
 */
export async function saveLocalRule(
  folder: string,
  list: RuleList,
  rule: string,
  options: UserOptions = {},
): Promise<string> {
  if (rule.trim() === "" || rule.length > 10_000 || /[\r\n\0]/.test(rule)) {
    throw new ConfigError([{ path: `permissions.${list}`, message: "A rule is one line of text, and not empty." }]);
  }
  // Trust comes first: a crash in between leaves trust in a rule that does not exist, not a rule that nobody agreed to.
  if (list === "allow")
    await openTrustStore(userPaths(options)).update(folder, (digests) => [...digests, allowDigest(rule)]);
  const file = localRulesFile(folder, options);
  await editRules(file, list, (rules, document) => {
    if (textsOf(rules).includes(rule)) return false;
    rules.add(document.createNode(rule));
    return true;
  });
  return file;
}

/**
 * Removes a rule from the same file, and the trust of an allow rule: the same rule in a file of the project needs trust again.
 * False if it is not in the file, or if `file` is another one.
 */
export async function removeLocalRule(
  folder: string,
  { list, rule, file: from }: { list: RuleList; rule: string; file: string },
  options: UserOptions = {},
): Promise<boolean> {
  const file = localRulesFile(folder, options);
  if (from !== file) return false;
  return editRules(file, list, async (rules) => {
    const texts = textsOf(rules);
    const at = texts.findIndex((text) => text.trim() === rule.trim());
    const found = texts[at];
    if (found === undefined) return false;
    if (list === "allow") {
      // Trust goes first: a crash in between leaves a rule without effect.
      const revoked = new Set([allowDigest(found), allowDigest(rule.trim())]);
      const store = openTrustStore(userPaths(options));
      await store.update(folder, (digests) => [...digests].filter((digest) => !revoked.has(digest)));
    }
    return rules.delete(at);
  });
}

/** What one change wrote to the file of saved rules. Plain JSON, so that it can be taken back later. */
export interface LocalChange {
  /** The bytes before, as base64. Undefined if there was no file. */
  before?: string;
  /** Of the file after it. */
  after: string;
  /** What was trusted with it, and is not trusted any more. */
  trusted: readonly string[];
  untrusted: readonly string[];
}

interface LocalRule {
  list: RuleList;
  rule: string;
}

/**
 * Adds and removes rules and sets values, with one write of the same file. `keep` stores what takes it back, before anything
 * is written. Throws a ConfigError if a rule that must go is not there.
 */
export async function changeLocalConfig(
  folder: string,
  {
    add,
    remove,
    set,
    keep,
  }: {
    add: readonly LocalRule[];
    remove: readonly LocalRule[];
    set: readonly (readonly [path: readonly string[], value: unknown])[];
    keep(change: LocalChange): Promise<void>;
  },
  options: UserOptions = {},
): Promise<void> {
  const file = localRulesFile(folder, options);
  ensureStateFolder(dirname(file));
  const { parseDocument } = await import("yaml");
  await withFileLock(file, async () => {
    const before = await readBytes(file);
    const text = (await readConfigText(file)) ?? "";
    await parseConfigText(text, file);
    const document: Document = parseDocument(text, { stringKeys: true });
    if (document.contents === null) document.commentBefore ??= HEADER;
    for (const { list, rule } of remove) {
      const rules = await rulesOf(document, { list, file });
      const at = textsOf(rules).findIndex((each) => each.trim() === rule);
      if (at < 0)
        throw new ConfigError([{ file, path: `permissions.${list}`, message: `"${rule}" is not there now.` }]);
      rules.delete(at);
    }
    for (const { list, rule } of add) {
      const rules = await rulesOf(document, { list, file });
      // Another process may have saved it meanwhile.
      if (!textsOf(rules).includes(rule)) rules.add(document.createNode(rule));
    }
    for (const [path, value] of set) document.setIn(path, document.createNode(value));
    const bytes = Buffer.from(document.toString({ lineWidth: 0 }));
    const store = openTrustStore(userPaths(options));
    const known = await store.read(folder);
    const [was, is] = [await digestsOf(text, { file, folder }), await digestsOf(bytes.toString(), { file, folder })];
    const trusted = is.filter((digest) => !was.includes(digest) && !known.has(digest));
    const untrusted = was.filter((digest) => !is.includes(digest) && known.has(digest));
    await keep({ before: before?.toString("base64"), after: hashOf(bytes), trusted, untrusted });
    // As for one rule: trust comes first, and goes first.
    await changeTrust(folder, { add: trusted, remove: untrusted }, options);
    await writeLocal(file, bytes);
  });
}

/**
 * Writes back what was there before a change. False if the file is neither as the change left it nor as it was before. `begin`
 * is called before anything is written, and `end` after it: no other change comes between.
 */
export async function restoreLocalConfig(
  folder: string,
  { before, after, trusted, untrusted }: LocalChange,
  { begin, end, ...options }: UserOptions & { begin(): Promise<void>; end(): Promise<void> },
): Promise<boolean> {
  const file = localRulesFile(folder, options);
  return withFileLock(file, async () => {
    const now = await readBytes(file);
    const was = before === undefined ? undefined : Buffer.from(before, "base64");
    const isChanged = now !== undefined && hashOf(now) === after;
    if (!isChanged && (now === undefined || was === undefined ? now !== was : !now.equals(was))) return false;
    await begin();
    await changeTrust(folder, { add: untrusted, remove: trusted }, options);
    if (isChanged && was) await writeLocal(file, was);
    else if (isChanged) await rm(file);
    await end();
    return true;
  });
}

/** What needs trust in the file. */
async function digestsOf(text: string, { file, folder }: { file: string; folder: string }): Promise<string[]> {
  const { value, positionOf } = await parseConfigText(text, file);
  const items = await listTrustItems({ origin: "local", kind: "haft", file, folder, value, positionOf }, folder);
  return items.map(({ digest }) => digest);
}

async function changeTrust(
  folder: string,
  { add, remove }: { add: readonly string[]; remove: readonly string[] },
  options: UserOptions,
): Promise<void> {
  if (add.length + remove.length === 0) return;
  await openTrustStore(userPaths(options)).update(folder, (digests) =>
    [...digests, ...add].filter((digest) => !remove.includes(digest)),
  );
}

async function readBytes(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

function hashOf(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function writeLocal(file: string, bytes: Buffer): Promise<void> {
  const files = createFiles(createPathPolicy({ workspace: dirname(file) }));
  await files.writeFileAtomic(STATE_FILES.rules, bytes, { mode: 0o600 });
}

/** Where `saveLocalRule` saves. */
export function localRulesFile(folder: string, options: UserOptions = {}): string {
  return join(userPaths(options).stateFolderOf(folder), STATE_FILES.rules);
}

/** The lines of the saved rules, as the file is now. A file that cannot be read has none. */
export async function savedRuleLines(file: string): Promise<(list: RuleList, rule: string) => number | undefined> {
  const lines = new Map<string, number | undefined>();
  try {
    const { value, positionOf } = await parseConfigText((await readConfigText(file)) ?? "", file);
    const permissions = isObject(value) && isObject(value["permissions"]) ? value["permissions"] : {};
    for (const [list, rules] of Object.entries(permissions)) {
      if (!Array.isArray(rules)) continue;
      for (const [at, rule] of rules.entries())
        lines.set(`${list} ${String(rule).trim()}`, positionOf(["permissions", list, at])?.line);
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
  }
  return (list, rule) => lines.get(`${list} ${rule}`);
}

/** Writes the file if `change` returns true. */
async function editRules(
  file: string,
  list: RuleList,
  change: (rules: YAMLSeq, document: Document) => MaybePromise<boolean>,
): Promise<boolean> {
  ensureStateFolder(dirname(file));
  const { parseDocument } = await import("yaml");
  return withFileLock(file, async () => {
    const text = (await readConfigText(file)) ?? "";
    // With the limits and messages of every other reader. A broken file is not overwritten.
    await parseConfigText(text, file);
    const document: Document = parseDocument(text, { stringKeys: true });
    if (document.contents === null) document.commentBefore ??= HEADER;
    const rules = await rulesOf(document, { list, file });
    if (!(await change(rules, document))) return false;
    await writeLocal(file, Buffer.from(document.toString({ lineWidth: 0 })));
    return true;
  });
}

function textsOf(rules: YAMLSeq): string[] {
  return (rules.toJSON() as unknown[]).map(String);
}

async function rulesOf(document: Document, { list, file }: { list: RuleList; file: string }): Promise<YAMLSeq> {
  const { isSeq, YAMLSeq: Sequence } = await import("yaml");
  const path = ["permissions", list];
  const rules: unknown = document.hasIn(path) ? document.getIn(path) : undefined;
  if (isSeq(rules)) return rules;
  if (rules !== undefined && rules !== null) {
    throw new ConfigError([{ file, path: path.join("."), message: "Must be a list." }]);
  }
  if (document.getIn(["permissions"]) === null) document.setIn(["permissions"], document.createNode({}));
  document.setIn(path, new Sequence());
  return document.getIn(path) as YAMLSeq;
}
