import { type ChildProcess, spawn } from "node:child_process";

/**
 * Reads "+ GROUP SIGNAL" and "- GROUP", until the host has ended. SIGQUIT goes to a launcher of the sandbox, which then
 * kills everything that it confines; what is left of the group is killed a second later.
 */
const WATCHER = `all=" "
while read -r sign group signal; do
  case "$sign$all" in
    +*) all="$all$group:$signal " ;;
    -*" $group:"*) rest="\${all#* $group:}"; all="\${all%% $group:*} \${rest#* }" ;;
  esac
done
for each in $all; do
  group="\${each%:*}"
  if [ "\${each#*:}" = QUIT ]; then kill -QUIT "$group"; left="$left $group"; else kill -KILL "-$group"; fi
done
if [ -n "$left" ]; then sleep 1; for group in $left; do kill -KILL "-$group"; done; fi
`;

/** One for the host process: it reads an end of file when the host has ended, whatever ended it. */
let watcher: ChildProcess | undefined;
const groups = new Map<number, string>();

/**
 * Call it before a process is started. The returned function takes its group: that ends with this process then, also if this
 * is killed. It returns how the group is released: call that when it has ended. Not needed on Windows, where children end
 * with their parent.
 */
export function endWithHost({ isSupervised = false } = {}): (group: number) => () => void {
  if (process.platform === "win32") return () => () => undefined;
  watcher ??= startWatcher();
  return (group) => {
    const line = `+ ${group} ${isSupervised ? "QUIT" : "KILL"}\n`;
    groups.set(group, line);
    watcher?.stdin?.write(line);
    return () => {
      if (groups.delete(group)) watcher?.stdin?.write(`- ${group}\n`);
    };
  };
}

function startWatcher(): ChildProcess | undefined {
  // In a session of its own: what a terminal sends to the host does not reach it.
  const child = spawn("/bin/sh", ["-c", WATCHER, "haft-watch"], {
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: "/usr/bin:/bin" },
    cwd: "/",
    detached: true,
  });
  // Without it commands still run. The next one tries again.
  const forget = (): void => void (watcher = undefined);
  child.once("error", forget).once("exit", forget);
  child.stdin.on("error", forget);
  child.unref();
  (child.stdin as unknown as { unref(): void }).unref();
  for (const line of groups.values()) child.stdin.write(line);
  return child;
}
