export interface MaskedValue {
  value: string;
  masked: boolean;
}

/** A value as it may be shown: hidden when its name or its shape says that it is a secret. */
export function maskSecret(name: string, value: string): MaskedValue {
  if (value === "") return { value, masked: false };
  const hidden = { value: `[hidden, ${value.length} characters]`, masked: true };
  if (isSecretName(name) || SECRET_SHAPES.some((shape) => shape.test(value))) return hidden;
  const withoutPasswords = value.replace(URL_PASSWORD, "$1[hidden]@");
  return { value: withoutPasswords, masked: withoutPasswords !== value };
}

/** Words that stand for themselves in a name, between underscores or at its ends. */
const SECRET_WORD = new RegExp(
  `(?:^|_)(?:${[
    "keys?|apikeys?|pat|jwt|pass|pwd|pin|otp|creds?|auth|authorization|bearer|cookies?|salt|pepper|signature|webhooks?",
    "session|dsn|connection_?string|conn_?str",
    "(?:database|db|redis|mongo(?:db)?|postgres(?:ql)?|mysql|amqp|rabbitmq|sentry)_?(?:url|uri)",
  ].join("|")})(?:_|\\d*$)`,
  "i",
);
/** Words that mean a secret wherever they stand, tokenizers aside. */
const SECRET_PART = /token(?!iz)|secret|passw(?:or)?d|passphrase|credential|private_?key/i;

function isSecretName(name: string): boolean {
  if (/^(?:OLD)?PWD$/i.test(name)) return false;
  return SECRET_PART.test(name) || SECRET_WORD.test(name.replace(/([a-z])([A-Z])/g, "$1_$2"));
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

const URL_PASSWORD = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/?#@]{0,200}:)[^\s/?#@]{1,500}@/gi;
