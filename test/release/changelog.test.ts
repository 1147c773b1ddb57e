import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dateChangelog, notesOf, readReleases } from "../../scripts/release.mjs";
import { VERSION } from "../../src/core/telemetry/version.ts";
import { ROOT } from "../architecture/read-entries.ts";

const CHANGELOG = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8");
const SAMPLE =
  "# Changelog\n\n## Unreleased\n\n### Added\n\n- A tool,\n  in two lines.\n\n## 0.1.0 - 2026-01-01\n\n### Fixed\n\n- A bug.\n";

test("the changelog has a section for the version of the package", () => {
  expect(readReleases(CHANGELOG).map(({ version }) => version)).toContain(VERSION);
  expect(CHANGELOG).toContain("\n## Unreleased\n");
  expect(notesOf(CHANGELOG, VERSION)).toContain("### Added\n");
});

test("a release dates the unreleased section and leaves the rest as it is", () => {
  const dated = dateChangelog(SAMPLE, "0.2.0", "2026-02-01");
  expect(dated).toBe(SAMPLE.replace("## Unreleased\n", "## Unreleased\n\n## 0.2.0 - 2026-02-01\n"));
  expect(notesOf(dated, "0.2.0")).toBe("### Added\n- A tool,\n  in two lines.\n");
  expect(notesOf(dated, "0.1.0")).toBe("### Fixed\n- A bug.\n");
});

test.each([
  ["has no section", () => notesOf(SAMPLE, "0.9.0")],
  ["unknown section: Repaired", () => readReleases(SAMPLE.replace("### Fixed", "### Repaired"))],
  ["in the release title", () => readReleases(SAMPLE.replace(" - 2026-01-01", ""))],
  ["0.1.0 twice", () => readReleases(`${SAMPLE}\n## 0.1.0 - 2026-01-01\n\n### Added\n\n- B.\n`)],
  ["no entries", () => dateChangelog(SAMPLE.replace(/## Unreleased[^]*(?=## 0.1.0)/, ""), "0.2.0", "2026-02-01")],
])("a changelog is refused: %s", (message, read) => {
  expect(read).toThrow(message);
});

const release = (...words: string[]) =>
  execFileSync(process.execPath, [join(ROOT, "scripts", "release.mjs"), ...words], { encoding: "utf8", stdio: "pipe" });

test("a tag must be the version of the package", () => {
  expect(release("check", `v${VERSION}`)).toContain("agree");
  expect(() => release("check", "v99.0.0")).toThrow(`The tag is v99.0.0, but package.json has version ${VERSION}`);
});

test("a prerelease is refused", () => {
  expect(() => release("99.0.0-beta.1")).toThrow("99.0.0-beta.1 is a prerelease");
});
