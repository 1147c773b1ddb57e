import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Document, YAMLSeq } from "yaml";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";
import { ConfigError } from "./problems.ts";
import { withFileLock } from "./file-lock.ts";
import { allowDigest } from "./trust-items.ts";
import { parseConfigText, readConfigText } from "./config-text.ts";
import { ensureStateFolder, type UserOptions, userPaths } from "./state-folder.ts";
import { openTrustStore } from "./trust.ts";

export type RuleList = "allow" | "ask" | "deny";

const HEADER = ' Rules that were answered with "always" in this folder. Not to be committed.\n';

/** Adds a rule to `.haft/config.yml`, its comments kept. An allow rule is trusted with it: a person has just agreed. */
export async function saveLocalRule(
  folder: string,
  list: RuleList,
  rule: string,
  options: UserOptions = {},
): Promise<boolean> {
  if (rule.trim() === "" || rule.length > 10_000 || /[\r\n\0]/.test(rule)) {
    throw new ConfigError([{ path: `permissions.${list}`, message: "A rule is one line of text, and not empty." }]);
  }
  // Before the file says it: a crash in between leaves a rule that nobody wrote, not one that nobody agreed to.
  if (list === "allow") {
    await openTrustStore(userPaths(options)).update(folder, (digests) => [...digests, allowDigest(rule)]);
  }
  return changeLocalFile(folder, async (document) => {
    const rules = await rulesOf(document, list);
    if (textsOf(rules).includes(rule)) return false;
    rules.add(document.createNode(rule));
    return true;
  });
}

/** Whether the rule was there. */
export async function removeLocalRule(
  folder: string,
  list: RuleList,
  rule: string,
  options: UserOptions = {},
): Promise<boolean> {
  const wasThere = await changeLocalFile(folder, async (document) => {
    const rules = await rulesOf(document, list);
    const index = textsOf(rules).indexOf(rule);
    return index >= 0 && rules.delete(index);
  });
  if (list === "allow" && wasThere) {
    await openTrustStore(userPaths(options)).update(folder, (digests) =>
      [...digests].filter((digest) => digest !== allowDigest(rule)),
    );
  }
  return wasThere;
}

async function changeLocalFile(folder: string, change: (document: Document) => Promise<boolean>): Promise<boolean> {
  const state = await ensureStateFolder(await realpath(folder));
  const file = join(state, "config.yml");
  const { parseDocument } = await import("yaml");
  return withFileLock(file, async () => {
    const text = (await readConfigText(file)) ?? "";
    // With the limits and the messages of every other reader; what is broken is not written over.
    await parseConfigText(text, file);
    const document: Document = parseDocument(text, { stringKeys: true });
    if (document.contents === null) document.commentBefore ??= HEADER;
    if (!(await change(document))) return false;
    const files = createFiles(createPathPolicy({ workspace: state }));
    await files.writeFileAtomic("config.yml", Buffer.from(document.toString({ lineWidth: 0 })), { mode: 0o600 });
    return true;
  });
}

async function rulesOf(document: Document, list: RuleList): Promise<YAMLSeq> {
  const { isSeq, YAMLSeq: Sequence } = await import("yaml");
  const path = ["permissions", list];
  const rules: unknown = document.hasIn(path) ? document.getIn(path) : undefined;
  if (isSeq(rules)) return rules;
  if (rules !== undefined && rules !== null) {
    throw new ConfigError([{ file: ".haft/config.yml", path: path.join("."), message: "Must be a list." }]);
  }
  if (document.getIn(["permissions"]) === null) document.setIn(["permissions"], document.createNode({}));
  document.setIn(path, new Sequence());
  return document.getIn(path) as YAMLSeq;
}

function textsOf(rules: YAMLSeq): string[] {
  return (rules.toJSON() as unknown[]).map(String);
}
