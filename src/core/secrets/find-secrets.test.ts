import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { translate } from "../../../scripts/update-secret-rules.mjs";
import { hideSecrets } from "./mask-secrets.ts";
import { GITLEAKS_RULES } from "./rule-data.ts";

/** Random enough, and the same in every run. */
const mixed = "q7Zx2LmN9pR4tVb8KcYw3HsD6fGj5TaE1uXo0BnMkWvQ".repeat(4);
const hex = "3f9a1c7e5b2d8046f1e3a9c5d7b20468".repeat(4);

/** Written in parts, so no scanner takes this file for a leak. */
const SHAPES: [name: string, before: string, secret: string, after?: string][] = [
  [
    "Slack webhook",
    "https://hooks.slack.com/services/",
    `T0${hex.slice(0, 7).toUpperCase()}/B01/${mixed.slice(0, 24)}`,
  ],
  ["Discord webhook", "https://discord.com/api/webhooks/", `123456789012345678/${mixed.slice(0, 60)}`],
  ["Discord bot", "", ["MTA1", mixed.slice(0, 20), ".", mixed.slice(3, 9), ".", mixed.slice(5, 43)].join("")],
  ["Stripe webhook", "", `whsec_${mixed.slice(0, 32)}`],
  ["Docker", "", `dckr_pat_${mixed.slice(0, 27)}`],
  ["Twilio account", "", `AC${hex.slice(0, 32)}`],
  ["Mailgun", "", `key-${hex.slice(0, 32)}`],
  ["Shopify", "", `shpat_${hex.slice(0, 32)}`],
  ["Notion", "", `ntn_${mixed.slice(0, 46)}`],
  ["Figma", "", `figd_${mixed.slice(0, 40)}`],
  ["Telegram", "", `123456789:AA${mixed.slice(0, 33)}`],
  ["Vault", "", `hvs.${mixed.slice(0, 90)}`],
  ["Databricks", "", `dapi${hex.slice(0, 32)}`],
  ["Groq", "", `gsk_${mixed.slice(0, 52)}`],
  ["Replicate", "", `r8_${mixed.slice(0, 37)}`],
  ["New Relic", "", `NRAK-${mixed.slice(0, 27).toUpperCase()}`],
  ["Sentry", "", `sntrys_${mixed.slice(0, 60)}`],
  ["Doppler", "", `dp.pt.${mixed.slice(0, 43)}`],
  ["Pulumi", "", `pul-${hex.slice(0, 40)}`],
  ["age", "", `AGE-SECRET-KEY-1${mixed.slice(0, 58).toUpperCase()}`],
  ["Azure account key", "AccountName=x;AccountKey=", `${mixed.slice(0, 86)}==`],
  ["Azure SAS", "https://x.blob.core.windows.net/c?sv=2024-01-01&sig=", `${mixed.slice(0, 43)}%3D`, "&se=1"],
  ["Set-Cookie", "Set-Cookie: session=", mixed.slice(0, 32), "; HttpOnly"],
  ["Atlassian", "", `ATATT3${mixed.slice(0, 60)}`],
  ["Airtable", "", `pat${mixed.slice(0, 14)}.${hex.slice(0, 64)}`],
  ["Supabase", "", `sbp_${hex.slice(0, 40)}`],
  ["Cloudflare", "CLOUDFLARE_API_TOKEN=", mixed.slice(0, 40)],
  ["Postman", "", `PMAK-${hex.slice(0, 24)}-${hex.slice(0, 34)}`],
  ["Grafana", "", `glsa_${mixed.slice(0, 32)}_${hex.slice(0, 8)}`],
  ["Okta", "Authorization: SSWS ", `00${mixed.slice(0, 40)}`],
  ["GitLab runner", "", `glrt-${mixed.slice(0, 20)}`],
  ["JWT", "", `eyJ${mixed.slice(0, 20)}.eyJ${mixed.slice(0, 30)}.${mixed.slice(0, 43)}`],
  ["bcrypt", "admin:", `$2b$12$${mixed.slice(0, 53)}`],
  ["netrc", "machine git.example login me password ", mixed.slice(0, 12)],
  ["curl -u", "curl -s -u ann:", mixed.slice(0, 10), " https://x.example"],
  ["mysql -p", "mysql -u root -p", mixed.slice(0, 10), " shop"],
  ["sshpass -p", "sshpass -p ", mixed.slice(0, 10), " ssh a@b"],
  ["redis-cli -a", "redis-cli -h db -a ", mixed.slice(0, 10), " ping"],
  ["openssl pass:", "openssl enc -aes-256-cbc -pass pass:", mixed.slice(0, 10)],
  ["URL without a user", "git clone https://", mixed.slice(0, 24), "@git.example/x"],
  ["URL with a user", "amqp://ann:", mixed.slice(0, 12), "@mq"],
  ["a line of YAML", "db:\n  password: ", mixed.slice(0, 10)],
  ["a field of JSON", '{"clientSecret":"', mixed.slice(0, 24), '"}'],
  ["a query", "https://x.example/a?access_token=", mixed.slice(0, 30), "&b=1"],
  ["a service that only its name shows", "fastly_key = '", mixed.slice(0, 32), "'"],
];

describe("a secret is hidden by its shape", () => {
  test.each(SHAPES)("%s", (_, before, secret, after = "") => {
    for (const text of [
      `${before}${secret}${after}`,
      `echo "${before}${secret}${after}" x`,
      `a\n${before}${secret}${after}\nb`,
    ]) {
      const shown = hideSecrets(text);
      expect(shown).toContain("[hidden]");
      expect(shown).not.toContain(secret.slice(-8));
    }
  });

  test("also if it is longer than any rule says", () => {
    const long = `eyJ${mixed}.${mixed.repeat(5)}.${mixed}`;
    expect(hideSecrets(`a ${long} b`)).toBe("a [hidden] b");
  });
});

test.each([
  "const token = await readToken(options);",
  "  password: string;",
  "  token: TokenType | undefined;",
  "interface Login { password?: string; apiKey: string }",
  'const STORAGE_KEY = "haft-theme-v2";',
  "connect(host, password=password, token=args.token)",
  "    api_key=settings.api_key,",
  "headers: { authorization: `Bearer ${token}`, cookie: document.cookie },",
  'if (name === "password") return { type: "secret", label: "Password" };',
  '{ token: "keyword.operator", regex: /a/ }',
  '"dependencies": { "js-tokens": "^9.0.1", "tokenize-text": "2.0.0" }',
  "the option --token is needed; --password FILE reads it from a file",
  "docker run -u 1000:1000 -p 8080:80 image",
  "export PASSWORD=$DB_PASSWORD TOKEN=${TOKEN}",
  "integrity sha512-Zn4ZxQ7k9LmNoP2rStUvWxYz0123456789abcdefghijklmnopqrstuv==",
  "commit 3f9a1c7e5b2d8046f1e3a9c5d7b204683f9a1c7e",
  "http://localhost:3000/path?key=value#token",
  "maxTokens: 4096, tokenCount: 17, secretName: 'db-login-2'",
  "npm_config_node_gyp npm_package_json npm_lifecycle_event",
])("ordinary source is shown as it is: %s", (line) => {
  expect(hideSecrets(line)).toBe(line);
});

test("at most five places of this repository's own source are taken for secrets", () => {
  const folder = join(import.meta.dirname, "../..");
  const found = readdirSync(folder, { recursive: true, encoding: "utf8" })
    // Tests and suites plant secrets on purpose.
    .filter((name) => name.endsWith(".ts") && !/\.(?:test|suite|fixture)\.ts$|rule-data\.ts$/.test(name))
    .flatMap((name) => {
      const text = readFileSync(join(folder, name), "utf8");
      const more = hideSecrets(text).split("[hidden]").length - text.split("[hidden]").length;
      return more > 0 ? [`${name}: ${more}`] : [];
    });
  expect(found.length, found.join("\n")).toBeLessThanOrEqual(5);
});

test.each([
  ["token=", 'token="', "cookie=", "a:", " --token", "password ", "authorization:"],
  ["curl ", "curl -u ", "mysql -", "docker login ", "openssl ", "config set token ", "sudo -S "],
  ["adafruit                    =     aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ", '<add key="Password" value="', "twitter="],
  ["glpat-", "eyJ", "eyJaaaaaaaaa.", "sk-", "A", "://", "http://a:b", "-----BEGIN PRIVATE KEY-----", "NRAL", "a1"],
  [GITLEAKS_RULES.flatMap(([, words]) => words).join(" "), GITLEAKS_RULES.flatMap(([, words]) => words).join("= ")],
])("64 KB of beginnings of secrets take little time: %j", (...parts) => {
  for (const part of parts) {
    const text = part.repeat(Math.ceil(65_536 / part.length)).slice(0, 65_536);
    const { user } = process.cpuUsage();
    hideSecrets(text);
    // It takes about 20 ms; what grows with the square of the length takes many seconds.
    expect((process.cpuUsage().user - user) / 1000, part.slice(0, 20)).toBeLessThan(1000);
  }
});

describe("the rules of gitleaks", () => {
  test("have keywords in lower case and patterns that JavaScript reads", () => {
    expect(GITLEAKS_RULES.length).toBeGreaterThan(150);
    for (const [id, keywords, pattern] of GITLEAKS_RULES) {
      expect(keywords.length, id).toBeGreaterThan(0);
      expect(
        keywords.every((word) => word.length >= 2 && word === word.toLowerCase()),
        id,
      ).toBe(true);
      expect(() => new RegExp(pattern), id).not.toThrow();
      // Without a bound, a text of beginnings would take quadratic time.
      expect(pattern.replaceAll(/\\./g, "").replaceAll(/\[[^\]]*\]/g, ""), id).not.toMatch(/[*+](?!\?)|\{\d+,\}/);
    }
  });

  test.each([
    ["(?i)ab-[c-e]{2}", "AB-Cd", "ab-cf"],
    ["a(?i)b", "aB", "AB"],
    ["(?i:a)b", "Ab", "AB"],
    ["(?i)x(?-i:y)z", "XyZ", "XYZ"],
    ["a(?s:.)b", "a\nb", "ab"],
    ["a\\z", "xa", "ab"],
    ["(?P<n>a)\\x60", "a`", "a"],
    ["[a\\]-]{2}", "]-", "b-"],
  ])("are translated: %s", (source, matched, other) => {
    const pattern = new RegExp(translate(source));
    expect(pattern.test(matched)).toBe(true);
    expect(pattern.test(other)).toBe(false);
  });

  test("are not translated by guessing", () => {
    for (const source of ["[[:alnum:]]", "\\pL", "(?U)a+", "a)"]) expect(() => translate(source)).toThrow(/: /);
  });
});
