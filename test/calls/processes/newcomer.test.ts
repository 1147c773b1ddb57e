// With HAFT_FULL=1: the first minutes with Haft, a hundred times: a server, a call in another terminal, and an approval in the
// console or in a third terminal. All sides must report what really happened.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bundleProgram } from "../../setup/bundle-program.ts";
import { temporaryFolder } from "../../setup/temporary-folder.ts";
import type { Told } from "./parties.ts";
import { Site } from "./site.ts";

const FULL = process.env["HAFT_FULL"] === "1";
const ROUNDS = 100;
const ROUNDS_PER_SERVER = 20;

describe.runIf(FULL)("a newcomer", () => {
  test(
    "gets the same true outcome on every side, a hundred times in a row",
    async () => {
      const base = temporaryFolder("haft-newcomer-");
      const cli = await bundleProgram("src/cli/main.ts", join(base, "cli"), { isSplit: true });
      mkdirSync(join(base, "site"));
      const site = await Site.open({ base: join(base, "site"), programs: { cli, library: cli } });
      const faults: string[] = [];
      let server = site.freshServer();
      await server.ready();
      for (let round = 0; round < ROUNDS; round++) {
        if (round > 0 && round % ROUNDS_PER_SERVER === 0) {
          await server.close();
          server = site.freshServer();
          await server.ready();
        }
        const file = `note-${round}.txt`;
        const isDenied = round % 7 === 6;
        const call = ["tools", "call", "write", `path=${file}`, `content=hello ${round}`];
        const words = [...call, "--session", "newcomer", "--id", `call-${round}`];
        const asked = await site.command(words).told;
        const id = asked.pending?.id ?? "";
        const wasWritten = existsSync(join(site.folder, file));
        const answered: Told =
          round % 2 === 0
            ? await server.answer(id, isDenied ? "deny" : "once")
            : await site.command(["approvals", isDenied ? "deny" : "approve", id]).told;
        const later = await site.command(words).told;
        const followed = await server.follow(id);
        const content = existsSync(join(site.folder, file)) ? readFileSync(join(site.folder, file), "utf8") : undefined;
        const said = [wasWritten, asked.said, answered.said, later.said, followed.said, content];
        const isCommand = round % 2 === 1;
        const expected = isDenied
          ? [
              false,
              "pending",
              isCommand ? "denied" : "approval_denied",
              "approval_denied",
              "approval_denied",
              undefined,
            ]
          : [false, "pending", "completed", "completed", "completed", `hello ${round}`];
        if (JSON.stringify(said) !== JSON.stringify(expected))
          faults.push(
            `round ${round}: ${JSON.stringify(said)} ${[asked, answered, later].map(({ text }) => text).join("\n")}`,
          );
        if (round % 20 === 19) process.stderr.write(`newcomer: ${round + 1} rounds, ${faults.length} faults\n`);
      }
      await server.close();
      await site.close();
      expect(faults).toEqual([]);
    },
    60 * 60_000,
  );
});
