// Hooks as an agent starts them: as processes, with a server that the first one starts.
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { AGENT_NAMES } from "../../src/models/hook-protocols.ts";
import { bundleHaft, type HaftProgram, type Ran } from "../cli/run-haft.ts";
import { until } from "../setup/until.ts";
import { type Answered, AGENT_RIGS } from "./events.ts";

let haft: HaftProgram;
beforeAll(async () => {
  haft = await bundleHaft();
}, 180_000);
afterAll(() => haft.remove());
beforeEach(() => {
  haft.openFolder();
  writeFileSync(join(haft.folder, "haft.config.yml"), 'permissions:\n  deny: ["Bash(git push:*)"]\n');
});
afterEach(async () => {
  const pid = serverPid();
  if (pid !== undefined) await killed(pid);
});

const LIMIT = ["--limit", "4m"];
const answered = ({ code, stdout, stderr }: Ran): Answered => ({ exitCode: code ?? -1, stdout, stderr });
const PUSH = "git push origin main";
const hook = async (agent: (typeof AGENT_NAMES)[number], input?: string, env?: Record<string, string>) => {
  const event = input ?? JSON.stringify(AGENT_RIGS[agent].before(PUSH, haft.folder));
  return answered(await haft.run(["hook", agent, ...LIMIT], { input: event, env }));
};

function serverPid(): number | undefined {
  try {
    return (JSON.parse(readFileSync(join(haft.stateFolder, "server.json"), "utf8")) as { pid: number }).pid;
  } catch {
    return undefined;
  }
}

async function killed(pid: number): Promise<void> {
  const isAlive = (): boolean => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  if (isAlive()) process.kill(pid, "SIGKILL");
  await until(() => !isAlive());
}

test(
  "a hook without a server starts one, also after kill -9 and with what that leaves",
  { timeout: 900_000 },
  async () => {
    const { denies } = AGENT_RIGS.claude;
    const first = await Promise.all([hook("claude"), hook("claude"), hook("claude")]);
    for (const answer of first) {
      expect(answer).toSatisfy(denies);
      expect(answer.stdout).toContain("Bash(git push:*)");
    }
    await until(() => serverPid() !== undefined);
    const pid = serverPid()!;
    expect((await hook("codex")).stdout).toContain("Bash(git push:*)");
    expect(serverPid()).toBe(pid);
    await killed(pid);
    // The socket is still there. A hook that was killed while it started a server leaves its lock.
    writeFileSync(join(haft.stateFolder, "hook.starting"), String(pid));
    const again = await hook("claude");
    expect(again.stdout).toContain("Bash(git push:*)");
    await until(() => serverPid() !== pid && serverPid() !== undefined);
  },
);

describe("without an answer of a server", () => {
  test.each(AGENT_NAMES)("the hook of %s denies, and says why", { timeout: 300_000 }, async (agent) => {
    const answer = await hook(agent, undefined, { HAFT_STATE_DIR: "not/absolute" });
    expect(answer).toSatisfy(AGENT_RIGS[agent].denies);
    expect(answer.stdout + answer.stderr).toContain("HAFT_STATE_DIR");
  });
});

test(
  "the socket gives nothing to who has no token, and no pass to a client that is gone",
  { timeout: 600_000 },
  async () => {
    await hook("claude");
    const socket = join(haft.stateFolder, "hook.sock");
    const token = readFileSync(join(haft.stateFolder, "hook.token"), "utf8");
    const made = JSON.stringify(AGENT_RIGS.claude.before("mkdir made", haft.folder));
    const open = (given: string, body: string) => {
      const client = connect(socket);
      client.on("error", () => undefined);
      client.write(`haft-hook 1 ${given} claude 200000 ${Buffer.byteLength(body)}\n${body}`);
      return client;
    };
    const said = await new Promise<string>((resolve) => {
      let text = "";
      open("0".repeat(64), made)
        .on("data", (part) => (text += String(part)))
        .on("close", () => resolve(text));
    });
    expect(said).toContain("no valid token");
    const listed = async () => {
      const { stdout } = await haft.run(["approvals", "list", "--json"]);
      return (JSON.parse(stdout) as { items: { id: string }[] }).items;
    };
    expect(await listed()).toEqual([]);
    const gone = open(token, made);
    let found: { id: string }[] = [];
    await until(async () => (found = await listed()).length === 1, { pauseMs: 200 });
    gone.destroy();
    await new Promise((resolve) => gone.once("close", resolve));
    expect((await haft.run(["approvals", "approve", found[0]!.id])).code).toBe(0);
    // It is still there for the agent that makes the call again.
    const answer = answered(await haft.run(["hook", "claude", ...LIMIT], { input: made }));
    expect(answer).toSatisfy(AGENT_RIGS.claude.passes);
  },
);
