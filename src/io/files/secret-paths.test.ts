import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { isSecretName } from "./path-policy.ts";
import { isGitConfigWithSecret, nameBeforeCopy } from "./secret-paths.ts";

test.each(
  `.env prod.env secrets.env .env.local .Env.Production .env-prod .flaskenv .dev.vars credentials.json credentials.yml.enc
   client_secret_1.json serviceAccountKey.json my-service-account.json gcp-key.json kubeconfig .kube/config terraform.tfvars
   prod.auto.tfvars terraform.tfstate.backup wp-config.php .yarnrc.yml secring.gpg private.asc a.ovpn wg0.conf auth.json
   .mylogin.cnf group_vars/all/vault.yml config/database.yml .netlify/state.json google-services.json token.json token.txt
   passwords.csv .passwd-s3fs cookies.sqlite .curlrc .muttrc .rclone.conf .ngrok2/ngrok.yml .chef/knife.rb .sentryclirc
   .git-credential-store .oauth2 .secret filezilla.xml .ftpconfig deploy_rsa appsettings.Production.json AuthKey_1.p8`
    .trim()
    .split(/\s+/),
)("%s has the name of a secret, also as a copy", (name) => {
  const [folder, last] = [name.slice(0, name.lastIndexOf("/") + 1), name.slice(name.lastIndexOf("/") + 1)];
  const copies = [
    `${last}~`,
    `.${last}.swp`,
    `#${last}#`,
    `${last}.bak`,
    `${last}.old~`,
    `${last}.2024-05-01`,
    `Copy of ${last}`,
  ];
  for (const each of [last, last.toUpperCase(), ...copies]) expect(isSecretName(`a/${folder}${each}`), each).toBe(true);
});

test.each(
  `src/token.ts secrets.ts credentials.test.ts auth.js src/secrets/index.ts src/credentials/aws.ts tokens.json key.ts
   .env.example .env.sample~ .env.production.example example.env terraform.tfvars.example example.tfvars prod.sample.tfvars wp-config-sample.php id_rsa.pub
   locales/de/auth.json src/i18n/en/token.json docs/secrets.md tokenizer.json appsettings.Development.json database.ts
   SHASUMS256.txt.asc ca.crt gradle.properties cookies.ts notes.bak copy.txt vault/index.ts password.go env.d.ts`
    .trim()
    .split(/\s+/),
)("%s is an ordinary name", (name) => {
  expect(isSecretName(name)).toBe(false);
});

test("no file of this repository has the name of a secret", () => {
  const top = join(import.meta.dirname, "../../..");
  const names = ["src", "test", "docs", "scripts", "console/src", "examples"].flatMap((folder) =>
    readdirSync(join(top, folder), { recursive: true, encoding: "utf8" }).filter(
      (name) => !name.includes("node_modules"),
    ),
  );
  expect(names.length).toBeGreaterThan(1000);
  expect(names.filter(isSecretName)).toEqual([]);
});

test("a name is unwrapped until it is no copy", () => {
  expect(nameBeforeCopy(".env.bak.1~")).toBe(".env");
  expect(nameBeforeCopy("a.ts")).toBe("a.ts");
  expect(nameBeforeCopy("~")).toBe("~");
  expect(nameBeforeCopy("x.env.swp")).toBe("x.env");
  for (const name of ["old x#y#", "#a#b", "old a.#b", "..env.swpx", "old my copy of x", "old xold .env"])
    expect(nameBeforeCopy(name)).toBe(name);
  const long = `${"a".repeat(254)}~`;
  expect(nameBeforeCopy(long)).toBe("a".repeat(254));
  expect(nameBeforeCopy(`.env${"~1".repeat(100)}`)).toBe(".env");
  const tooLong = `.env${"~1".repeat(40_000)}`;
  expect(nameBeforeCopy(tooLong)).toBe(tooLong);
});

test.each([
  ".env~ .env~1 .env~12~ #.env# .#.env ..env.swp ..env.SWA .env.bak .env_bkp .env-backup .env.old2 .env.orig .env.original",
  ".env.save .env.saved .env.copy .env.tmp .env.rej .env.dpkg-old .env.rpmsave .env.disabled .env.off .env.prev",
  ".env.1 .env.20240501123000 .env.2024-05-01 old.env backup_.env bak-.env old..env",
])("what is left of the names of copies is the name of the file: %s", (names) => {
  for (const name of names.split(" ")) {
    expect([name, nameBeforeCopy(name)]).toEqual([name, name === "old.env" ? "old.env" : ".env"]);
  }
});

test.each([
  ...[".env (1)", ".env (12)", ".env - Copy", ".env copy", ".env copy 23", "Copy of .env", "Copy (12) of .env"],
  ...["backup of .env", "old .env", "bak.2024.env"],
])("%s", (name) => {
  expect(nameBeforeCopy(name)).toBe(name === "bak.2024.env" ? name : ".env");
});

test.each([
  ...[
    "#.env",
    ".env#",
    "x#.env#",
    ".#",
    "x.#.env",
    ".env.swq",
    ".env.swp.txt",
    "bakery.env",
    "old.txt",
    "copy of",
    "a.bakx",
  ],
  ...[
    "a.off-road",
    "a1",
    "a(1)",
    "a (x)",

    "copying of .env",
    "recopy of .env",
  ],
])("%s is no copy", (name) => {
  expect(nameBeforeCopy(name)).toBe(name);
});

test.each([
  ["url = https://me:s3cret@example.com/a.git", true],
  ["url = https://0123456789abcdefghij@example.com/a.git", true],
  ["\textraheader = AUTHORIZATION: basic eDp5", true],
  ["[http]\n extraheader = X-Token: 1", true],
  ["\tpassword=1", true],
  ["[a]\npassword  = 1", true],
  ["url = https://0123456789abcdefghi@example.com/a.git", false],
  ["url = https://me@example.com/a.git", false],
  ["url = git@example.com:a/b.git", false],
  ["url = https://example.com/a:b@c", false],
  ["url = https://me: x@example.com", false],
  ["extraheader = Accept: text/plain", false],
  ["extraheaders = token", false],
  ["# my password = 1", false],
  ["passwords = 1", false],
])("a configuration of git with %j has a password: %s", (text, hasPassword) => {
  const folder = temporaryFolder("haft-git-");
  const names = [".git/config", ".git/config.worktree", ".git/modules/a/config"];
  const others = [".git/configs", ".git/my.config", ".git/configXworktree", "x.git/config", ".gitx/config", "config"];
  for (const name of [...names, ...others]) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  for (const name of names) expect([name, isGitConfigWithSecret(join(folder, name))]).toEqual([name, hasPassword]);
  for (const name of others) expect([name, isGitConfigWithSecret(join(folder, name))]).toEqual([name, false]);
  expect(isGitConfigWithSecret(join(folder, ".git/none/config"))).toBe(false);
});

test("the swap file of a hidden file has no second dot, and is a secret too", () => {
  for (const name of [".npmrc.swp", ".netrc.swo", ".pgpass.SWN", ".git-credentials.swp~"]) {
    expect([name, isSecretName(`a/${name}`)]).toEqual([name, true]);
  }
  expect([".notes.swp", ".a.ts.swp"].some(isSecretName)).toBe(false);
});
