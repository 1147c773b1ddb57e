/** A program that runs the command given in its own words. */
export interface WrapperForm {
  /** Options that take the next word, or have their value attached. */
  values?: string;
  /** Options without a value; any other option makes the reading uncertain. */
  flags?: string;
  /** Words before the command: the duration of timeout, the lock file of flock. */
  operands?: number;
  /** NAME=value words may stand before the command. */
  assignments?: boolean;
  /** The option whose value is shell text: `su -c`. */
  textOption?: string;
  /** The words of the command are joined and given to a shell. */
  joined?: boolean;
  /** More words are added while it runs, so the command is never known whole. */
  adds?: boolean;
  /** With one of these options nothing is run. */
  runsNothing?: string;
}

export const WRAPPERS: ReadonlyMap<string, WrapperForm> = new Map<string, WrapperForm>([
  [
    "sudo",
    {
      values: `-u -g -h -p -C -D -R -T -r -t -U --user --group --host --prompt --close-from --chdir --chroot --command-timeout
        --role --type --other-user`,
      flags:
        "-A -b -B -E -H -i -k -K -n -N -P -s -S --askpass --background --login --non-interactive --preserve-env --shell --stdin --set-home",
      assignments: true,
    },
  ],
  ["doas", { values: "-u -C -a", flags: "-n -s -L" }],
  [
    "env",
    {
      values: "-u -C --unset --chdir -S --split-string",
      flags: "- -i -0 -v --ignore-environment --null --debug --block-signal --default-signal --ignore-signal",
      assignments: true,
    },
  ],
  [
    "timeout",
    { values: "-s -k --signal --kill-after", flags: "-v -f -p --foreground --preserve-status --verbose", operands: 1 },
  ],
  [
    "gtimeout",
    { values: "-s -k --signal --kill-after", flags: "-v --foreground --preserve-status --verbose", operands: 1 },
  ],
  ["nice", { values: "-n --adjustment" }],
  ["ionice", { values: "-c -n --class --classdata", flags: "-t --ignore" }],
  ["nohup", {}],
  ["setsid", { flags: "-c -f -w --ctty --fork --wait" }],
  ["command", { flags: "-p", runsNothing: "-v -V" }],
  ["builtin", {}],
  ["exec", { values: "-a", flags: "-c -l" }],
  ["time", { values: "-f -o --format --output", flags: "-a -p -q -v --append --portability --quiet --verbose" }],
  ["stdbuf", { values: "-i -o -e --input --output --error" }],
  ["unbuffer", { flags: "-p" }],
  ["chrt", { flags: "-b -f -i -o -r -v --batch --fifo --idle --other --rr --verbose", operands: 1 }],
  ["taskset", { flags: "-a -c --all-tasks --cpu-list", operands: 1 }],
  ["numactl", {}],
  ["chroot", { values: "--userspec --groups", flags: "--skip-chdir", operands: 1 }],
  ["setarch", { flags: "-R -v --addr-no-randomize --verbose", operands: 1 }],
  ["caffeinate", { values: "-t -w", flags: "-d -i -m -s -u" }],
  ["unshare", { flags: "-c -f -i -m -n -p -r -u -U --fork --ipc --mount --net --pid --user --uts --map-root-user" }],
  [
    "strace",
    { values: "-a -e -E -I -o -O -p -P -s -S -u -X", flags: "-c -C -d -D -f -ff -h -i -k -q -r -t -tt -T -v -x -y" },
  ],
  ["ltrace", { values: "-a -e -l -n -o -p -s -u -x", flags: "-b -c -C -f -i -L -r -S -t -tt -T" }],
  [
    "xargs",
    {
      values: `-a -d -E -I -L -n -P -s --arg-file --delimiter --eof --replace --max-lines --max-args --max-procs
        --max-chars --process-slot-var`,
      flags: "-0 -e -i -l -o -p -r -t -x --null --interactive --no-run-if-empty --open-tty --verbose --exit",
      adds: true,
    },
  ],
  ["parallel", { values: "-a -j -n -N -I --jobs", flags: "-0 -k --keep-order --null", adds: true, joined: true }],
  [
    "watch",
    {
      values: "-n -q --interval --equexit",
      flags:
        "-b -c -C -d -e -g -p -r -t -w -x --beep --color --differences --errexit --chgexit --precise --no-title --exec",
      joined: true,
    },
  ],
  [
    "flock",
    {
      values: "-w -E --timeout --conflict-exit-code -c --command",
      flags: "-e -x -s -n -o -u -F --exclusive --shared --nonblock --nb --unlock --close --no-fork --verbose",
      operands: 1,
      textOption: "-c --command",
    },
  ],
  [
    "su",
    {
      values: "-c --command -s --shell -g -G -w",
      flags: "- -l -m -p -P --login --pty",
      textOption: "-c --command",
      operands: 1,
    },
  ],
  ["runuser", { values: "-c --command -u -g -G -s", flags: "- -l -m -p -P", textOption: "-c --command" }],
  [
    "script",
    {
      values: "-c --command -E -I -O -B -T -m -o",
      flags: "-a -e -f -q --append --flush --quiet --return",
      textOption: "-c --command",
      operands: 1,
    },
  ],
  ["busybox", {}],
  ["toybox", {}],
]);

export const SHELLS: ReadonlySet<string> = new Set([
  "sh",
  "bash",
  "rbash",
  "dash",
  "ash",
  "zsh",
  "ksh",
  "mksh",
  "fish",
]);
