import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isSecretName } from "./path-policy.ts";
import { nameBeforeCopy } from "./secret-paths.ts";

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
   .env.example .env.sample~ .env.production.example example.env terraform.tfvars.example wp-config-sample.php id_rsa.pub
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
  expect(nameBeforeCopy(`.env${"~1".repeat(100)}`)).toBe(".env");
  const tooLong = `.env${"~1".repeat(40_000)}`;
  expect(nameBeforeCopy(tooLong)).toBe(tooLong);
});
