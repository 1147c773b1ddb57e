import { toPlainData } from "../json.ts";
import { findSecrets, hideSpans } from "./find-secrets.ts";
import { findNamedSecrets } from "./named-values.ts";
import { TEXTS } from "../localized-text.ts";

export interface MaskedValue {
  value: string;
  masked: boolean;
}

/** A value for display: masked if its name or its shape means a secret. */
export function maskSecret(name: string, value: string): MaskedValue {
  if (value === "") return { value, masked: false };
  const hidden = { value: `[hidden, ${value.length} characters]`, masked: true };
  if (isSecretName(name) || HEADER_VALUE.test(value) || findSecrets(value).length > 0) return hidden;
  const withoutPasswords = value.replace(URL_PASSWORD, "$1[hidden]@");
  return { value: withoutPasswords, masked: withoutPasswords !== value };
}

const HEADER_VALUE = /^(?:Bearer|Basic) \S{8,}/i;

/** Words that mean a secret only as whole words of a name, between underscores or at its ends. */
const SECRET_WORD = new RegExp(
  `(?:^|_)(?:${[
    "keys?|apikeys?|pat|jwt|pass|pwd|pin|otp|creds?|auth|authorization|bearer|cookies?|salt|pepper|signature|webhooks?",
    "session|dsn|connection_?string|conn_?str",
    "(?:database|db|redis|mongo(?:db)?|postgres(?:ql)?|mysql|amqp|rabbitmq|sentry)_?(?:url|uri)",
  ].join("|")})(?:_|\\d*$)`,
  "i",
);
/** Words that mean a secret anywhere in a name, except in names of tokenizers. */
const SECRET_PART = /token(?!iz)|secret|passw(?:or)?d|passphrase|credential|private_?key/i;

/** Calls have the same few names again and again. */
const judgedNames = new Map<string, boolean>();
const MAX_JUDGED_NAMES = 1000;

export function isSecretName(name: string): boolean {
  let isSecret = judgedNames.get(name);
  if (isSecret === undefined) {
    const isFolder = /^(?:OLD)?PWD$/i.test(name);
    isSecret = !isFolder && (SECRET_PART.test(name) || SECRET_WORD.test(name.replace(/([a-z])([A-Z])/g, "$1_$2")));
    if (judgedNames.size >= MAX_JUDGED_NAMES) judgedNames.clear();
    judgedNames.set(name, isSecret);
  }
  return isSecret;
}

const VALUE = "(?:\"[^\"\\n]{3,}\"|'[^'\\n]{3,}'|[^\\s\"'`,;&|)}\\]]{3,})";

/** `NAME=…`, `"name": "…"`, `--name …` for names that the owner has declared. */
function namedInText(name: string): RegExp {
  return new RegExp(`(${name}["']?\\s*[=:]\\s*|--?(?:[\\w-]{1,40}-)?${name}\\s+)${VALUE}`, "giu");
}

/** More names that mean a secret. */
interface SecretNames {
  has(name: string): boolean;
  hideIn(text: string): string;
}

/** In any case, and with any separator between words. */
export function secretNames(names: readonly string[]): SecretNames | undefined {
  const wordsOf = (name: string): string[] =>
    name
      .replace(/([a-z\d])([A-Z])/g, "$1_$2")
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .filter(Boolean);
  const known = names.map(wordsOf).filter((words) => words.length > 0);
  if (known.length === 0) return undefined;
  const joined = new Set(known.map((words) => words.join("")));
  const anyOf = known.map((words) => words.join("[\\s_.-]?")).join("|");
  const inText = namedInText(`(?<![\\p{L}\\p{N}])(?:${anyOf})`);
  return {
    has: (name) => joined.has(wordsOf(name).join("")),
    hideIn: (text) => text.replace(inText, "$1[hidden]"),
  };
}

/** The text with everything masked that looks like a secret. */
export function hideSecrets(text: string): string {
  if (text.length < 8) return text;
  const spans = [...findSecrets(text), ...findNamedSecrets(text)];
  const shown = hideSpans(text, spans);
  return shown.includes("://") && shown.includes("@") ? shown.replace(URL_PASSWORD, "$1[hidden]@") : shown;
}

/** The same data with the texts masked that look like secrets. Fields of a result, such as `tokens`, have other meanings. */
export function hideSecretShapesIn<T>(value: T): T;
export function hideSecretShapesIn(value: unknown): unknown {
  if (typeof value === "string") return hideSecrets(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(hideSecretShapesIn);
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, hideSecretShapesIn(field)]));
}

/** The same data with secrets masked, by name or shape, and nothing cut. */
export function hideSecretsIn(value: unknown, isSecret = false): unknown {
  if (typeof value === "string") return isSecret && value !== "" ? "[hidden]" : hideSecrets(value);
  if (typeof value !== "object" || value === null) return isSecret && typeof value === "number" ? "[hidden]" : value;
  if (Array.isArray(value)) return value.map((item) => hideSecretsIn(item, isSecret));
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [key, hideSecretsIn(field, isSecret || isSecretName(key))]),
  );
}

/** Not the words of an example, `user:password@host`, and not a variable. */
const URL_PASSWORD =
  /(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/?#@]{0,200}:)(?!(?:password|pass|[$<{][^@]*)@)[^\s/?#@]{1,500}@/gi;

export interface RedactLimits {
  /** Max characters of one text. */
  maxTextLength?: number;
  /** Max characters of all texts and names together, approximately. */
  maxTotalLength?: number;
  /** More names of secrets. */
  names?: SecretNames | undefined;
}

const MAX_ENTRIES = 200;
const MAX_DEPTH = 12;

/** A bounded copy as plain data for storage and display: secrets are masked by name and by shape, and cuts are marked. */
export function redactSecrets(
  value: unknown,
  { maxTextLength = 2000, maxTotalLength = 16_000, names }: RedactLimits = {},
): unknown {
  let left = maxTotalLength;
  return redact(toPlainData(value).value, 0, false);

  function redact(data: unknown, depth: number, isSecret: boolean): unknown {
    if (typeof data === "string") return isSecret ? hidden(data) : redactText(data);
    if (isSecret && typeof data === "number") return "[hidden]";
    if (typeof data !== "object" || data === null) return data;
    if (depth >= MAX_DEPTH || left <= 0) return Array.isArray(data) ? "[list left out]" : "[object left out]";
    const entries = Object.entries(data);
    const kept = entries.slice(0, MAX_ENTRIES).map(([key, item]): [string, unknown] => {
      left -= key.length + 4;
      // The items of a list have no names.
      const isHidden = isSecret || (!Array.isArray(data) && (isSecretName(key) || names?.has(key) === true));
      return [key, redact(item, depth + 1, isHidden)];
    });
    const more = entries.length - kept.length;
    if (Array.isArray(data)) {
      const items = kept.map(([, item]) => item);
      return more > 0 ? [...items, `[${more} more]`] : items;
    }
    return Object.fromEntries(more > 0 ? [...kept, ["[left out]", `${more} more`]] : kept);
  }

  function redactText(text: string): string {
    const room = Math.max(0, Math.min(maxTextLength, left));
    // Also checks a little beyond the cut: half a secret must not remain before it.
    const seen = hideSecrets(text.slice(0, room + 500));
    const shown = (names?.hideIn(seen) ?? seen).slice(0, room);
    left -= shown.length;
    return text.length > room ? `${shown}… [${text.length - room} more characters]` : shown;
  }
}

/** The key of a localized text, in a field named `key`, is none. */
function hidden(text: string): string {
  return text === "" || Object.hasOwn(TEXTS, text) ? text : `[hidden, ${text.length} characters]`;
}
