import { toPlainData } from "./json.ts";
import { TEXTS } from "./localized-text.ts";

export interface MaskedValue {
  value: string;
  masked: boolean;
}

/** A value for display: masked if its name or its shape means a secret. */
export function maskSecret(name: string, value: string): MaskedValue {
  if (value === "") return { value, masked: false };
  const hidden = { value: `[hidden, ${value.length} characters]`, masked: true };
  if (isSecretName(name) || SECRET_SHAPES.some((shape) => shape.test(value))) return hidden;
  const withoutPasswords = value.replace(URL_PASSWORD, "$1[hidden]@");
  return { value: withoutPasswords, masked: withoutPasswords !== value };
}

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

const SECRET_SHAPES = [
  /\bsk-[A-Za-z0-9_-]{16,}/,
  /\b[sr]k_(?:live|test)_[A-Za-z0-9]{10,}/,
  /\bgh[pousr]_[A-Za-z0-9]{20,}/,
  /\bgithub_pat_\w{20,}/,
  /\bglpat-[\w-]{16,}/,
  /\bxox[abeoprs]-[\w-]{10,}/,
  /\bxapp-[\w-]{10,}/,
  /\b(?:AKIA|ASIA|AROA|AIDA)[0-9A-Z]{16}\b/,
  /\bAIza[\w-]{30,}/,
  /\bya29\.[\w-]{20,}/,
  /\bnpm_[A-Za-z0-9]{30,}/,
  /\bpypi-[\w-]{16,}/,
  /\bhf_[A-Za-z0-9]{20,}/,
  /\bSG\.[\w-]{16,}\.[\w-]{16,}/,
  /\bdop_v1_[a-f0-9]{32,}/,
  /\bLTAI[A-Za-z0-9]{12,}/,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/,
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /^(?:Bearer|Basic) \S{8,}/i,
];

/** In text a secret ends at the first character outside its alphabet; a multi-line key at its last line. */
const SECRET_IN_TEXT = new RegExp(
  [
    "-----BEGIN [A-Z ]*PRIVATE KEY-----[\\s\\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    "\\b(?:Bearer|Basic)\\s+[\\w.~+/=-]{8,}",
    ...SECRET_SHAPES.filter(({ source }) => source.startsWith("\\b")).map(({ source }) => source),
  ].join("|"),
  "g",
);
const NAME =
  "(?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)[\\w-]{0,40}";
const VALUE = "(?:\"[^\"\\n]{3,}\"|'[^'\\n]{3,}'|[^\\s\"'`,;&|)}\\]]{3,})";
/** `PASSWORD=…`, `"api_key": "…"`, `X-Auth-Token: …`, `--token …`. */
const NAMED_IN_TEXT = namedInText(NAME);

function namedInText(name: string, flags = "gi"): RegExp {
  return new RegExp(`(${name}["']?\\s*[=:]\\s*|--?(?:[\\w-]{1,40}-)?${name}\\s+)${VALUE}`, flags);
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
  const inText = namedInText(`(?<![\\p{L}\\p{N}])(?:${anyOf})`, "giu");
  return {
    has: (name) => joined.has(wordsOf(name).join("")),
    hideIn: (text) => text.replace(inText, "$1[hidden]"),
  };
}

/** The text with everything masked that looks like a secret. */
export function hideSecrets(text: string): string {
  if (text.length < 8) return text;
  let shown = text.replace(SECRET_IN_TEXT, "[hidden]");
  // Each of these needs one of its characters, which most texts do not have.
  if (/[=:-]/.test(shown)) shown = shown.replace(NAMED_IN_TEXT, "$1[hidden]");
  if (shown.includes("://") && shown.includes("@")) shown = shown.replace(URL_PASSWORD, "$1[hidden]@");
  return shown;
}

const URL_PASSWORD = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/?#@]{0,200}:)[^\s/?#@]{1,500}@/gi;

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
