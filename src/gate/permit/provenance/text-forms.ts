import { type Argument, wordsOf } from "./roles.ts";

/** The forms of a text by which values are compared: what a value is, not how it was quoted or encoded. */

/**
 * Case, full width, white space and quotes around words do not matter. Look-alike letters and invisible characters stay
 * different, and so does an apostrophe in a word: it can be a part of an address.
 */
export function plainForm(text: string): string {
  return text
    .normalize("NFC")
    .replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0))
    .toLowerCase()
    .replace(/[\u2018\u2019`]/g, "'")
    .replace(/[\u201c\u201d"]|(?<![\p{L}\p{N}])'|'(?![\p{L}\p{N}])/gu, "")
    .replace(/\s+/g, " ")
    .trim();
}

/** The texts that a quoted or encoded value may mean, itself first. */
export function decodedForms(value: string, { base64 }: { base64: boolean }): string[] {
  const forms = new Set([value]);
  const bare = value.trim().replace(/^["'`<([]+|["'`>)\].,;:!?]+$/g, "");
  forms.add(bare);
  forms.add(withWholeAccounts(bare));
  if (/%[0-9a-f]{2}/i.test(bare)) {
    try {
      forms.add(decodeURIComponent(bare.replaceAll("+", " ")));
    } catch {
      // Not an encoded text.
    }
  }
  if (base64 && bare.length <= 1000 && /^[A-Za-z0-9+/_-]{8,}={0,2}$/.test(bare)) {
    const text = Buffer.from(bare, "base64").toString("utf8");
    if (/^[\x20-\x7e]{4,}$/.test(text)) forms.add(text);
  }
  return [...forms].filter((form) => form !== "");
}

/** Host and path, without scheme, `www.` and a last slash; of a mail address the address. */
export function addressForm(address: string): string {
  return plainForm(address)
    .replace(/^(?!(?:javascript|vbscript|data|file|blob):)[a-z][a-z0-9+.-]*:\/\//, "")
    .replace(/^www\./, "")
    .replace(/\/+$/, "");
}

/** The address and the beginnings of it that contain it: its path is below them. */
export function addressesAbove(form: string): string[] {
  const above = [form];
  for (let at = form.length - 1; at > 0 && above.length < 20; at--)
    if (form[at] === "/" || form[at] === "?") above.push(form.slice(0, at));
  return above;
}

/** A link with a mail address in it is one link. */
const LINK_WITH_MAIL = /\b(?:https?:\/\/|www\.)[^\s<>"'`)\]}@]*@[^\s<>"'`)\]}]*/gi;
const LINK =
  /\b(?:https?:\/\/|www\.)[^\s<>"'`)\]}]+|\b[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){0,8}\.(?:com|org|net|io|dev|app|co|info|biz|xyz|ru|cn|de|uk|ch|eu|me|ai|sh|to|gg|top|site|online|link|click|fr|jp|us|tv)\b(?:\/[^\s<>"'`)\]}]*)?/gi;
const MAIL = /[\p{L}\p{N}._%+-]{1,64}(?:'[\p{L}\p{N}._%+-]{1,64}){0,3}@[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63})+/gu;
const IBAN = /\b[A-Z]{2}\d{2}[A-Z0-9]{10,30}\b/g;
/** As it is printed, in groups of four. */
const GROUPED_IBAN = /\b[A-Z]{2}\d{2}(?:[ \u00a0-][A-Z0-9]{4}){2,7}(?:[ \u00a0-][A-Z0-9]{1,3})?\b/g;
const NUMERIC_HOST = /\b\d{1,3}(?:\.\d{1,3}){3}\b(?::\d+)?(?:\/[^\s<>"'`)\]}]*)?/g;

/** With each account number as one word. */
export function withWholeAccounts(text: string): string {
  return text.replace(GROUPED_IBAN, (number) => number.replace(/[ \u00a0-]/g, ""));
}

/** Addresses inside a text: links, mail addresses, account numbers. */
export function addressesIn(text: string): string[] {
  const mails = text.includes("@") ? (text.match(MAIL) ?? []) : [];
  const whole = mails.length > 0 ? (text.match(LINK_WITH_MAIL) ?? []) : [];
  const rest = mails.length > 0 ? text.replace(LINK_WITH_MAIL, " ").replace(MAIL, " ") : text;
  const links = rest.includes(".") ? [...(rest.match(LINK) ?? []), ...(rest.match(NUMERIC_HOST) ?? [])] : [];
  links.push(...whole);
  return [...new Set([...mails, ...links.map((link) => link.replace(/[.,;:!?]+$/, "")), ...(rest.match(IBAN) ?? [])])];
}

const WORDS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+|(?:(?!\p{Script=Han})[\p{L}\p{N}\p{M}_])+|[^]/gu;

/** The words of a plain form, and each other character by itself. A change of script ends a word. */
export function itemsOf(plain: string): string[] {
  return plain.match(WORDS) ?? [];
}

export function isWord(item: string): boolean {
  return /^[\p{L}\p{N}_]/u.test(item);
}

const ADDED_FILE =
  /^(?:(?:added|saved|downloaded|copied|wrote) (?:file )?)?["'`]?([^\s"'`/\\]+\.\w{1,8})["'`]? (?:(?:(?:has been|was|is) )?(?:added|saved|downloaded|copied|written) )?(?:to|in|into) (?:the )?["'`]?([\w/-]+)["'`]?(?: folder| directory)?[.!]*$/i;

/** The path of the file that a result names, and of nothing else: `cat.jpg has been added to downloads.` */
export function fileAdded(text: string): string | undefined {
  const [, name, folder] = (text.length <= 500 && ADDED_FILE.exec(text.trim())) || [];
  return name && pathForm(`/${folder}/${name}`);
}

const FAILED = /exist|fail|error|denied|cannot|could|unable|invalid|\bno(?:t|thing)?\b|fatal/i;

/** A new path right below one of the folders, if a short result names just one: `Cloned into '/work/app'.` */
export function pathMade(text: string, folders: readonly string[], inputs: readonly string[]): string | undefined {
  if (text.length > 500 || folders.length === 0 || FAILED.test(text)) return undefined;
  const tokens = text.split(/[\s"'`]+/).map((each) => pathForm(each.replace(/[.,:;!?]+$/, "")));
  const [path, ...others] = tokens.filter((each) => each.startsWith("/") && !inputs.includes(each));
  const isBelow = path !== undefined && folders.includes(path.slice(0, path.lastIndexOf("/")));
  return others.length === 0 && isBelow && !path.includes("..") ? path : undefined;
}

export function pathForm(path: string): string {
  return path.replace(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
}

/** Whether a result is one short line, as a service answers what it did. */
export function isAnswer(values: readonly unknown[]): boolean {
  const fields = values.flatMap((each) => (typeof each === "object" && each !== null ? Object.values(each) : [each]));
  return fields.every((each) => each === fields[0] && typeof each === "string" && /^.{1,500}$/.test(each.trim()));
}

/** Tools that put files into a folder. */
export const MAKES_FILES = /^(?:checkout|clone|copy|download|export|extract|move|save|unzip|upload)$/;
const DOCUMENTS =
  /^(?:attachment|browse|cat|contents?|crawl|document|download|eval|evaluate|exec|execute|fetch|file|form|html|http|json|load|logs?|open|page|payload|query|raw|request|resource|run|scrape|shell|sql|site|text|url|web|webhook|webpage)$/;
const PLACE = /^[^@]*(?:[\\/]|\.[a-z]\w{0,4}$)/i;

/** It may return a file, a page, the output of a program: whoever wrote that chose its fields, too. */
export function returnsDocument(toolName: string, given: readonly Argument[]): boolean {
  const isPlace = given.some(
    ({ path, role, value }) => PLACE.test(value) || (role === "code" && !/query$/i.test(path)),
  );
  return isPlace || wordsOf(toolName).some((word) => DOCUMENTS.test(word));
}

/** A field that is called an id, with a value like one. */
export function isId(field: string, value: string): boolean {
  const last = wordsOf(field).findLast((word) => word !== "") ?? "";
  return /^(?:ids?|uuid|guid|attachments?)$/.test(last) && /^[\w:#-]{1,64}$/.test(value);
}

const PYTHON = /'((?:[^'\\]|\\[^])*)'|"((?:[^"\\]|\\[^])*)"|\b(True|False|None)\b|["'][^]*/g;
const LINE = /^(?:([A-Za-z_]\w*):(?: (.*))?|(?: {2})?- (.*))$/;

/** Data as Python prints it, or a list or a map as YAML writes it; undefined if a quote or a line does not fit. */
export function printedData(text: string): unknown {
  if (text.length > 50_000) return undefined;
  if (!/^\s*[[{]/.test(text)) return printedRecords(text.trimEnd().split("\n"));
  try {
    const json = text.replace(PYTHON, (quoted, one?: string, two = one) => {
      if (two !== undefined) return JSON.stringify(two.replace(/\\(['"\\])/g, "$1"));
      if (/^["']/.test(quoted)) throw new SyntaxError("an open quote");
      return quoted === "None" ? "null" : quoted.toLowerCase();
    });
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}

/** One record, or several that begin with `- `. What is indented further than the fields of a record is their text. */
function printedRecords(lines: readonly string[]): object[] | undefined {
  const indent = lines[0]?.startsWith("- ") ? 2 : 0;
  const records: Map<string, string[]>[] = [];
  let values: string[] = [];
  let isList = false;
  const plain = (value: string): string => /^(["'])([^"'\\]*)\1$/.exec(value)?.[2] ?? value;
  for (const line of lines) {
    const begins = records.length === 0 || (indent > 0 && line.startsWith("- "));
    if (begins) records.push(new Map());
    const rest = begins || line.slice(0, indent).trim() === "" ? line.slice(indent) : "?";
    const [, key, value, item] = LINE.exec(rest) ?? [];
    if (key !== undefined && !records.at(-1)?.has(key)) {
      isList = value === undefined;
      records.at(-1)?.set(key, (values = value === undefined ? [] : [plain(value)]));
    } else if (begins || key !== undefined) return undefined;
    else if (isList && item !== undefined) values.push(plain(item));
    else if (/^(?:\s|$)/.test(rest)) values.push(`${values.pop() ?? ""}\n${line}`);
    else return undefined;
  }
  return records.map((each) => Object.fromEntries(each));
}

const NETWORK =
  /socket|connect|curl|wget|https?|smtp|ldap|telnet|urllib|urlopen|gethost|mosquitto|mongo|\b(?:ssh|scp|sftp|ftps?|rsync|rclone|nc|ncat|netcat|socat|ping6?|dig|drill|nslookup|whois|traceroute6?|tracepath|mtr|nmap|hosts?|getent|lynx|w3m|elinks|links|aria2c|axel|openssl|sendmail|mail|mailx|mutt|dns\w*|fetch|request|lookup|tcp|udp|psql|mysql\w*|redis-cli|smbclient|s3cmd|login|registry|index-url|endpoint|proxy|eval)\b|--(?:server|url)\b|(?:^|[;&|(\n])\s*[^\s=]*\$/i;

/** In a command that reaches no network, `build.sh` and `socket.io` are a file and a package; `evil.io:x` and `//evil.io` are places. */
export function isFileName(link: string, command: string): boolean {
  if (!/^[\w-]+(?:\.[\w-]+)+$/.test(link) || /^www\.|^[\d.]+$|\.(?:com|biz|xyz|click|online|site|ru)$/i.test(link))
    return false;
  // Quotes and backslashes in the name of a program change nothing.
  const plain = command.replace(/["'\\]/g, "");
  const around = plain.split(link);
  if (around.some((each, at) => (at > 0 && /^:\S/.test(each)) || (at < around.length - 1 && each.endsWith("//"))))
    return false;
  return !NETWORK.test(around.join(""));
}

const FIELD_NAME = /\s(?:id|name)\s*=\s*["']?([\w.:-]{1,64})/gi;
const FIELD = /<(?:input|select|textarea|button)\b[^>]{0,500}>/gi;

export function formFieldsIn(html: string): string[] {
  const tags = html.includes("<") ? (html.match(FIELD) ?? []) : [];
  return tags.flatMap((tag) => [...tag.matchAll(FIELD_NAME)].flatMap(([, id]) => id ?? []));
}

const CODE_NAME =
  /(?:^|[._])(?:otp|totp|passcode|(?:one_?time|verification|confirmation|security|auth|authentication|sms|mfa|2fa)_?(?:code|password|pin))$/i;

export function isOneTimeCode(path: string, value: string): boolean {
  return CODE_NAME.test(path.replace(/([a-z0-9])([A-Z])/g, "$1_$2")) && /^[A-Za-z0-9-]{4,10}$/.test(value.trim());
}

const CODE_SENT =
  /^(?=[^]*\b(?:sent|e-?mailed|texted)\b)[^]*\b(?:otp|passcode|one-time|(?:verification|confirmation|security) code)\b/i;

/** `An email with a one-time password has been sent to your inbox.` What the call was given, it only repeats. */
export function saysCodeIsSent(text: string, given: readonly string[]): boolean {
  if (text.length > 500 || !CODE_SENT.test(text)) return false;
  const isNew = (word: string): boolean => !given.some((each) => each.includes(word.toLowerCase()));
  return CODE_SENT.test((text.match(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu) ?? []).filter(isNew).join(" "));
}

const MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";
const MONTH_DAY = new RegExp(`\\b(${MONTHS})[a-z]{0,6}\\.?\\s+(\\d{1,2})(?:st|nd|rd|th)?\\b`, "gi");
const DAY_MONTH = new RegExp(`\\b(\\d{1,2})(?:st|nd|rd|th)?(?:\\s+of)?\\s+(${MONTHS})[a-z]{0,6}\\b`, "gi");

/**
 * Words that can tell one record from another: names, longer words, numbers, days. In a record short words count too,
 * whatever their case.
 */
export function tellingWords(text: string, isRecord: boolean): string[] {
  const words = new Set<string>();
  // The domain of an address is shared by many.
  const named = text
    .normalize("NFKC")
    .replace(/@[\p{L}\p{N}.-]+/gu, " ")
    .replace(/\b\d{4}-\d{2}(-\d{2})?\b|\b\d{1,2}:\d{2}(:\d{2})?(\.\d+)?\b/g, " ");
  for (const [word] of named.matchAll(/\p{L}[\p{L}\p{N}]*|\d+(?:[.,]\d+)*/gu)) {
    if (/^\d/.test(word)) {
      const number = word.replace(/,(?=\d{3}\b)/g, "");
      if (isRecord || number.length >= 3) words.add(String(Number(number)));
    } else if (word.length >= 4 || (word.length >= 2 && (isRecord || /^\p{Lu}/u.test(word))))
      words.add(word.toLowerCase().replace(/s$/, ""));
  }
  const day = (month: string | undefined, number: string | undefined): void =>
    void words.add(`day ${month?.toLowerCase()} ${Number(number)}`);
  for (const [, month, number] of text.matchAll(/\b\d{4}-(\d{2})-(\d{2})\b/g))
    day(MONTHS.split("|")[Number(month) - 1], number);
  for (const [, month, number] of text.matchAll(MONTH_DAY)) day(month, number);
  for (const [, number, month] of text.matchAll(DAY_MONTH)) day(month, number);
  return [...words];
}

const MAX_NAME = 80;

/** A short text on one line: a name, an address, an id. Everything else is text, whoever sent it. */
export function isName(text: string): boolean {
  return text.length <= MAX_NAME && !/[\r\n]/.test(text) && text.split(/\s+/, 9).length <= 8;
}

/** Runs of letters and digits that look like a private number: of a card, a passport, an account. */
export function numbersIn(text: string): string[] {
  const tokens =
    text
      .normalize("NFKC")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  const found = new Set<string>();
  for (let from = 0; from < tokens.length; from++) {
    let joined = "";
    for (let to = from; to < Math.min(tokens.length, from + 6); to++) {
      if (!/\d/.test(tokens[to] ?? "")) break;
      joined += tokens[to];
      if (joined.length > 40) break;
      if (isPrivateNumber(joined)) found.add(joined);
    }
  }
  return [...found];
}

export function isPrivateNumber(form: string): boolean {
  return form.length >= 6 && (form.match(/\d/g)?.length ?? 0) >= 4;
}

/** A hash with a key (HalfSipHash-2-4) of 53 bits: without the key, nobody can look up which text it is of. */
export function keyedHash([low, high]: HashKey, text: string): number {
  let v0 = low;
  let v1 = high;
  let v2 = low ^ 0x6c796765;
  let v3 = high ^ 0x74656462;
  const rounds = (count: number): void => {
    for (let i = 0; i < count; i++) {
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
  };
  for (let at = 0; at < text.length; at += 2) {
    // Behind the end there is a character that no text has.
    const word = text.charCodeAt(at) | ((at + 1 < text.length ? text.charCodeAt(at + 1) : 0xffff) << 16);
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
  v3 ^= text.length;
  rounds(2);
  v0 ^= text.length;
  v2 ^= 0xee;
  rounds(4);
  const first = (v1 ^ v3) >>> 0;
  v1 ^= 0xdd;
  rounds(4);
  return first * 0x200000 + ((v1 ^ v3) >>> 11);
}

/** Two random 32-bit numbers. */
export type HashKey = readonly [low: number, high: number];
