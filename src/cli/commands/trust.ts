import type { TrustStatus } from "../../config/trust.ts";
import { defineCommand, type Invocation } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { type Output, safeLine } from "../output.ts";
import { confirm, withYes } from "../prompts.ts";
import { isInteractive } from "../terminal.ts";

export const trust = defineCommand({
  examples: [
    ["haft trust", "review what this folder's configuration would run or allow, and trust it"],
    ["haft trust --list", "only review it; exits with 7 if something is not trusted yet"],
    ["haft trust --forget", 'revoke the trust, including saved "always" rules'],
  ],
  options: {
    list: { type: "flag", about: "Show it, and change nothing" },
    yes: { type: "flag", about: "Trust everything that is there now" },
    forget: { type: "flag", about: "Revoke the trust" },
  },
  notes: ["Until you trust it, hooks, servers and plugins of the folder do not run, and its rules allow nothing."],
  async run({ argv, folder, terminal, output, interrupted, options: { list, yes, forget } }) {
    const config = await import("../../config/trust.ts");
    const user = { env: terminal.env };
    if (forget) {
      await config.distrust(folder, user);
      output.info("This folder is no longer trusted.");
      return EXIT.done;
    }
    const status = await config.trustStatus(folder, user);
    output.list(status, () => showItems(status, output));
    const open = status.items.filter(({ isTrusted }) => !isTrusted);
    if (open.length === 0) {
      if (yes) await config.trust(folder, { ...user, digests: [] });
      output.info(status.items.length === 0 ? "Nothing here needs your trust." : "Everything is trusted.");
      return EXIT.done;
    }
    if (list) return EXIT.pending;
    if (!yes && !isInteractive(terminal)) {
      output.notice(`Not trusted yet. Read the list, then run \`${withYes(argv)}\`.`);
      return EXIT.pending;
    }
    if (!yes && !(await confirm(coverage(open.length), { terminal, signal: interrupted }))) return EXIT.pending;
    // Only what was shown: a file may have changed since.
    const { status: now } = await config.trust(folder, { ...user, digests: open.map(({ digest }) => digest) });
    if (yes) await config.trust(folder, { ...user, digests: [] });
    output.info(now === "trusted" ? "Trusted." : "Something changed meanwhile and is not trusted: look again.");
    if (now === "trusted" && open.some(({ kind }) => kind === "mcp_server"))
      output.info("Its MCP servers start as shown. Calls of their tools still need approval.");
    if (now === "trusted" && open.some(({ kind, isChanged }) => kind === "plugin" && !isChanged)) {
      const { findRunningServer } = await import("../running-server.ts");
      const server = await findRunningServer(folder, { ...user, anySettings: true, warn: () => undefined });
      if (server) output.info(`Restart the server (${server.url}): it loads new plugins when it starts.`);
    }
    return now === "trusted" ? EXIT.done : EXIT.pending;
  },
});

/**
 * The question of a first run in a folder: what its configuration would run or loosen, and whether to trust that. Asked once;
 * again only if something is new or changed. Without a terminal nobody is asked, and nothing is trusted.
 */
export async function askTrust(folder: string, { terminal, output, interrupted }: Asking): Promise<void> {
  if (!isInteractive(terminal)) return;
  const config = await import("../../config/trust.ts");
  const user = { env: terminal.env };
  const status = await config.trustStatus(folder, user).catch(() => undefined);
  const open = status?.items.filter(({ isTrusted, isDeclined }) => !isTrusted && !isDeclined) ?? [];
  if (!status || open.length === 0) return;
  const digests = open.map(({ digest }) => digest);
  for (const line of showItems({ ...status, items: open }, output)) output.info(line);
  if (await confirm(coverage(open.length), { terminal, signal: interrupted })) {
    await config.trust(folder, { ...user, digests });
  } else if (!interrupted.aborted) {
    await config.declineTrust(folder, digests, user);
    output.info("Not trusted. `haft trust` asks again.");
  }
}

type Asking = Pick<Invocation, "terminal" | "output" | "interrupted">;

/** One question for the whole folder. It says what the answer covers. */
function coverage(count: number): string {
  const parts =
    count === 1 ? "the setting above that is not trusted" : `the ${count} settings above that are not trusted`;
  return `Trust this folder? Then ${parts} can run or loosen rules, as shown. Commands still ask as before.`;
}

function showItems({ items }: TrustStatus, { paint }: Output): string[] {
  return items.flatMap(({ isTrusted, isChanged, changes, before, kind, what, file, line }) => [
    `${isTrusted ? paint("green", "trusted    ") : paint("yellow", isChanged || before !== undefined ? "changed    " : "not trusted")}  ${kind}  ${paint("dim", `${safeLine(file)}${line === undefined ? "" : `:${line}`}`)}`,
    ...(before !== undefined ? [`  was: ${safeLine(before)}`, `  now: ${safeLine(what)}`] : [`  ${safeLine(what)}`]),
    ...(changes?.length ? [`  changed: ${safeLine(changes.join(", "))}`] : []),
  ]);
}
