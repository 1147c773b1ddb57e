import type { TrustStatus } from "../../config/trust.ts";
import { defineCommand } from "../command.ts";
import { confirm } from "../confirm.ts";
import { EXIT } from "../exit-code.ts";
import { type Output, safeLine } from "../output.ts";
import { isInteractive } from "../terminal.ts";

export const command = defineCommand({
  examples: [
    ["haft trust", "see what this folder's configuration would run or loosen, and agree to it"],
    ["haft trust --list", "only see it; exits with 7 where something waits for your word"],
    ["haft trust --forget", 'take back every agreement, saved "always" rules included'],
  ],
  options: {
    list: { type: "flag", about: "Change nothing" },
    yes: { type: "flag", about: "Agree to everything that is there now" },
    forget: { type: "flag", about: "Agree to nothing any more" },
  },
  notes: [
    "Until you agree, none of it counts: no hook, server or plugin of the folder runs, and no rule of it allows.",
  ],
  async run({ folder, terminal, output, interrupted, options: { list, yes, forget } }) {
    const { distrust, trust, trustStatus } = await import("../../config/trust.ts");
    const user = { env: terminal.env };
    if (forget) {
      await distrust(folder, user);
      output.info("Nothing of this folder is trusted any more.");
      return EXIT.done;
    }
    const status = await trustStatus(folder, user);
    output.list(status, () => showItems(status, output));
    const open = status.items.filter(({ isTrusted }) => !isTrusted);
    if (open.length === 0) {
      // Said once, it also counts for what asks no question here: git in a repository of one's own.
      if (yes) await trust(folder, { ...user, digests: [] });
      output.info(status.items.length === 0 ? "Nothing here needs your trust." : "All of it is trusted.");
      return EXIT.done;
    }
    if (list) return EXIT.pending;
    if (!yes && !isInteractive(terminal)) {
      output.notice("Not trusted yet. Read the list, then run `haft trust --yes`.");
      return EXIT.pending;
    }
    if (!yes && !(await confirm("Trust all of it, as it is shown here?", { terminal, signal: interrupted })))
      return EXIT.pending;
    // What was shown and nothing else: a file may have changed while it was read.
    const { status: now } = await trust(folder, { ...user, digests: open.map(({ digest }) => digest) });
    output.info(now === "trusted" ? "Trusted." : "Something changed meanwhile and is not trusted: look again.");
    return now === "trusted" ? EXIT.done : EXIT.pending;
  },
});

function showItems({ items }: TrustStatus, { paint }: Output): string[] {
  return items.flatMap(({ isTrusted, kind, what, file, line }) => [
    `${isTrusted ? paint("green", "trusted    ") : paint("yellow", "not trusted")}  ${kind}  ${paint("dim", `${safeLine(file)}${line === undefined ? "" : `:${line}`}`)}`,
    `  ${safeLine(what)}`,
  ]);
}
