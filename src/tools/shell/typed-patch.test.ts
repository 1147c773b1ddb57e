import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import { openWorkspace } from "../../workspace.ts";
import { findTypedPatch } from "./typed-patch.ts";

const PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n";

test.each<[command: string, folder?: string]>([
  [`apply_patch <<'EOF'\n${PATCH}EOF`],
  [`  apply_patch << "EOF"\n${PATCH}EOF\n\n`],
  [`applypatch <<PATCH\n${PATCH}PATCH\n`],
  [`apply_patch <<-'EOF'\n${PATCH}EOF\n`],
  [`cd sub/dir && apply_patch <<'EOF'\n${PATCH}EOF\n`, "sub/dir"],
  [`cd 'a b' && apply_patch <<'EOF'\n${PATCH}EOF\n`, "a b"],
  [`apply_patch '${PATCH}'`],
  [`apply_patch "${PATCH}"`],
  [`bash -lc "apply_patch <<'EOF'\n${PATCH}EOF\n"`],
  [`/bin/sh -c 'cd x && apply_patch <<EOF\n${PATCH}EOF\n'`, "x"],
])("%j is a patch", (command, folder) => {
  expect(findTypedPatch(command)).toEqual({ patch: PATCH, folder });
});

test.each([
  `apply_patch <<'EOF' && rm x\n${PATCH}EOF\n`,
  `apply_patch <<'EOF'\n${PATCH}EOF\nrm x\n`,
  `rm x; apply_patch <<'EOF'\n${PATCH}EOF\n`,
  `apply_patch <<'EOF' | tee log\n${PATCH}EOF\n`,
  `apply_patch <<'EOF' > log\n${PATCH}EOF\n`,
  `apply_patch <<'EOF'\n${PATCH}`,
  `apply_patch <<EOF\n${PATCH.replace("x", "$HOME")}EOF\n`,
  `apply_patch <<EOF\n${PATCH.replace("x", "`id`")}EOF\n`,
  `apply_patch <<EOF\n${PATCH.replace("x", "\\\\")}EOF\n`,
  `apply_patch <<-'EOF'\n\t${PATCH}EOF\n`,
  `apply_patch "${PATCH.replace("x", "$(id)")}"`,
  `cd $HOME && apply_patch <<'EOF'\n${PATCH}EOF\n`,
  `cd - && apply_patch <<'EOF'\n${PATCH}EOF\n`,
  `cd a; apply_patch <<'EOF'\n${PATCH}EOF\n`,
  `X=1 apply_patch <<'EOF'\n${PATCH}EOF\n`,
  `git apply <<'EOF'\n${PATCH}EOF\n`,
  `bash -lc "apply_patch <<'EOF'\n${PATCH}EOF\n" && rm x`,
  'bash -lc "apply_patch $1"',
  `apply_patch patch.txt`,
  `apply_patch`,
])("%j stays a command", (command) => {
  expect(findTypedPatch(command)).toBeUndefined();
});

test("a list of two words is a patch with any quotes; a missing folder and other commands are not", async () => {
  const folder = temporaryFolder("haft-typed-patch-");
  const haft = createHaft({
    workspace: openWorkspace(folder, { sandbox: false }),
    approver: async () => ({ approved: true, by: "test" }),
  });
  onTestFinished(() => haft.shutdown());
  const patch = PATCH.replace("+x", '+it\'s $HOME "x"');
  expect(await haft.execute("exec", { command: ["apply_patch", patch] })).toMatchObject({ success: true });
  expect(readFileSync(join(folder, "a"), "utf8")).toBe('it\'s $HOME "x"\n');

  const missing = await haft.execute("exec", { command: `cd nowhere && apply_patch <<'EOF'\n${PATCH}EOF\n` });
  expect(missing).toMatchObject({ error: { code: "path_not_found" } });
  expect(existsSync(join(folder, "nowhere"))).toBe(false);

  const both = await haft.execute("exec", { command: `apply_patch <<'EOF'\n${PATCH}EOF\necho done` });
  expect(textOf(both.content)).toContain('apply_patch is a tool and not a command. Call apply_patch {"patch":');
});
