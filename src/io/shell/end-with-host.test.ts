import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canConfine } from "../../../test/setup/confinement.ts";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { until } from "../../../test/setup/until.ts";
import { prepareChildren, type TestChildren } from "../../store/start-child.fixture.ts";

const folder = temporaryFolder("haft-host-");
let children: TestChildren;
let count = 0;

beforeAll(async () => {
  children = await prepareChildren({ host: "host.ts", process: "io/shell/run-process.ts" });
}, 120_000);

afterAll(() => children.remove());

/** A command whose child goes on writing, also after the shell of the command has ended. */
const writing = (file: string): string => `(while :; do echo x >> ${file}; sleep 0.02; done) & wait`;

/** Several times: then its host knows that it runs. */
const isWritten = (file: string): boolean => existsSync(file) && readFileSync(file, "utf8").length > 10;

/** Whether no process is left that has it in its command line. In a namespace, numbers of processes are others. */
function hasEnded(file: string): boolean {
  return readdirSync("/proc").every((name) => {
    try {
      return !/^\d+$/.test(name) || !readFileSync(`/proc/${name}/cmdline`, "utf8").includes(file);
    } catch {
      return true;
    }
  });
}

const HOST = `
  import { openHaft } from "./bundle/host.js";
  const [, , workspace, inputs] = process.argv;
  const options = { stateFolder: workspace + "-state", home: workspace, approver: async () => ({ approved: true }) };
  const { haft } = await openHaft(workspace, options);
  const ended = haft.execute("exec", JSON.parse(inputs));
  setInterval(() => undefined, 1000);
  const result = await ended;
  if (result.status === "failed") throw new Error(JSON.stringify(result));`;

test.runIf(process.platform === "linux").each([
  ["confined", {}],
  ["confined, in the background", { background: true }],
  ["not confined", { outside_sandbox: true }],
  ["not confined, in the background", { outside_sandbox: true, background: true }],
])("a command ends with a host that is killed: %s", async (name, options) => {
  if (name.startsWith("confined") && !canConfine) return;
  const workspace = join(folder, `w${++count}`);
  mkdirSync(workspace);
  const file = join(workspace, "written");
  const host = children.start(HOST, [workspace, JSON.stringify({ command: writing(file), ...options })]);
  const early = host.ended.then(({ errors }) => Promise.reject(new Error(errors)));
  await Promise.race([until(() => isWritten(file)), early]);
  early.catch(() => undefined);
  host.process.kill("SIGKILL");
  await until(() => hasEnded(file));
  expect(hasEnded(file)).toBe(true);
});

test.runIf(process.platform !== "win32")(
  "a process that is to outlive its host does, and so do others' groups",
  async () => {
    const file = join(folder, "detached");
    const source = `
    import { startProcess } from "./bundle/process.js";
    const start = (shellCommand, outlivesHost) =>
      startProcess({ shellCommand, cwd: "/", env: { PATH: process.env.PATH }, outlivesHost });
    await (await start("true", false)).wait();
    const kept = await start(process.argv[2], true);
    const ended = await start("exec sleep 100", false);
    say(kept.pid + " " + ended.pid);
    setInterval(() => undefined, 1000);`;
    const host = children.start(source, [writing(file)]);
    await until(() => isWritten(file) && host.lines().length > 0);
    const [kept = 0, ended = 0] = host.lines()[0]!.split(" ").map(Number);
    host.process.kill("SIGKILL");
    const isAlive = (group: number): boolean => {
      try {
        return process.kill(-group, 0);
      } catch {
        return false;
      }
    };
    await until(() => !isAlive(ended));
    expect(isAlive(kept)).toBe(true);
    process.kill(-kept, "SIGKILL");
  },
);
