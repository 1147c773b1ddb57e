/**
 * What `npm run test:bun` leaves out, each with its reason; printed by every run. `files` is a pattern of test files,
 * `tests` the beginning of test names, with those of the groups they stand in.
 */
export const BUN_CANNOT_RUN = [
  {
    files: "src/io/shell/pseudo-terminal.test.ts",
    reason: "node-pty writes through a part of node:tty that Bun lacks",
  },
  { tests: "input on a terminal", reason: "node-pty writes through a part of node:tty that Bun lacks" },
  ...[
    "exec takes a failure for one on a terminal",
    "the input may be a terminal",
    "process types on a terminal",
    "process shows who decides",
    "a shutdown leaves",
  ].map((tests) => ({ tests, reason: "node-pty writes through a part of node:tty that Bun lacks" })),
  { files: "test/host/plugin-process.test.ts", reason: "on Bun plugins run in the process of Haft" },
  {
    tests: "input on pipes a process that does not read",
    reason: "Bun does not count what waits in a child's stdin, so the limit on it cannot act",
  },
];
