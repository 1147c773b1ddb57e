import type { TaintLabel } from "../../core/tool.ts";
import { isSecretName } from "../../files/sensitive-path.ts";
import { unwrapCommand } from "../../shell/unwrap-command.ts";

/** Programs whose output comes from other machines. */
const FETCHING = new Set(
  `curl wget http https xh aria2c ssh scp sftp rsync ftp nc ncat netcat socat telnet lynx w3m links gh glab hub aws
   gcloud    az doctl kubectl helm docker podman psql mysql mongosh redis-cli dig nslookup host whois yt-dlp`.split(
    /\s+/,
  ),
);
const FETCHING_GIT = new Set(["clone", "fetch", "pull", "ls-remote", "remote", "submodule"]);

/** Programs that print secrets. */
const REVEALING = new Set([
  "printenv",
  "pass",
  "gpg",
  "gpg2",
  "security",
  "op",
  "bw",
  "vault",
  "secret-tool",
  "keyctl",
]);

/**
 * What a command brings into the session, as far as its text says: a program may read and fetch whatever it likes, and
 * that is not seen here.
 */
export function commandLabels(command: string): TaintLabel[] {
  const { commands } = unwrapCommand(command);
  const fetches = commands.some(
    ({ name, argv }) => FETCHING.has(name) || (name === "git" && argv.some((word) => FETCHING_GIT.has(word))),
  );
  const reveals =
    commands.some(({ name, argv }) => REVEALING.has(name) || (name === "env" && argv.length === 1)) ||
    wordsOf(command).some(isSecretName);
  return [...(fetches ? (["untrusted_input"] as const) : []), ...(reveals ? (["sensitive_data"] as const) : [])];
}

/** Names may stand inside quotes, in a program's own text: every run of what a path is made of counts. */
function wordsOf(command: string): string[] {
  return [...new Set(command.slice(0, 100_000).match(/[\w.~/-]{2,}/g) ?? [])].slice(0, 2000);
}
