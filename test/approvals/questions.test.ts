// A question of ask_user between processes: asked in one, answered in another, whatever is killed in between.
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { bundleProgram } from "../setup/bundle-program.ts";
import { childEnd } from "../setup/child-end.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const FULL = process.env["HAFT_FULL"] === "1";

let base: string;
let program: string;
beforeAll(async () => {
  base = temporaryFolder("haft-questions-");
  program = await bundleProgram("test/approvals/asked-process.ts", join(base, "out"));
}, 60_000);

interface Running {
  child: ChildProcess;
  output(): string[];
  /** Resolves once it has printed a line that begins so. */
  says(word: string): Promise<void>;
  ended: Promise<string[]>;
}

function start(callId: string, role: "ask" | "wait" | "answer", choice = "", failAt = ""): Running {
  const child = spawn(process.execPath, [program, join(base, "state"), callId, role, choice], {
    stdio: "pipe",
    env: { ...process.env, HAFT_FAIL_AT: failAt },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let text = "";
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      text += String(chunk);
      for (const listener of listeners) listener();
    });
  }
  const output = (): string[] => text.trimEnd().split("\n");
  return {
    child,
    output,
    says: (word) =>
      new Promise((resolve, reject) => {
        const look = (): void => void (output().some((line) => line.startsWith(word)) && resolve());
        listeners.add(look);
        look();
        void childEnd(child).then(() => reject(new Error(`It ended without "${word}": ${text}`)));
      }),
    ended: childEnd(child).then(output),
  };
}

async function answer(callId: string, choice: string): Promise<string[]> {
  const running = start(callId, "answer", choice);
  await running.says("found");
  running.child.stdin?.write("go\n");
  return running.ended;
}

test("asked in a process that is killed, answered in another, and known to a third", async () => {
  const waiting = start("a", "wait");
  await waiting.says("asked");
  waiting.child.kill("SIGKILL");
  await waiting.ended;
  expect(await answer("a", "carl")).toEqual(["found", expect.stringMatching(/"carl" is not one of .* "ada", "bob"/)]);
  expect(await answer("a", "bob")).toEqual(["found", "answered: The user answered:", "- Which one? → bob"]);
  expect(await start("a", "ask").ended).toEqual(["completed: The user answered:", "- Which one? → bob"]);
});

test.skipIf(!FULL).each(["after answer", "after claim"])(
  "the process that answers is killed %s, and the answer stays",
  async (point) => {
    const callId = `c ${point}`;
    await start(callId, "ask").ended;
    const killed = start(callId, "answer", "ada", point);
    await killed.says("found");
    killed.child.stdin?.write("go\n");
    await killed.ended;
    expect(killed.child.signalCode).toBe("SIGKILL");
    expect(await start(callId, "ask").ended).toEqual(["completed: The user answered:", "- Which one? → ada"]);
  },
);

test("two processes answer at once: one wins, the caller gets its answer, and the other is told", async () => {
  const waiting = start("d", "wait");
  await waiting.says("asked");
  const racing = ["ada", "bob"].map((choice) => start("d", "answer", choice));
  await Promise.all(racing.map((each) => each.says("found")));
  for (const { child } of racing) child.stdin?.write("go\n");
  const [ada, bob] = (await Promise.all(racing.map(({ ended }) => ended))).map((lines) => lines.slice(1).join("\n"));
  const winner = ada?.startsWith("answered") ? "ada" : "bob";
  expect([ada, bob].filter((line) => line?.startsWith("answered"))).toEqual([
    `answered: The user answered:\n- Which one? → ${winner}`,
  ]);
  expect(winner === "ada" ? bob : ada).toContain(`was already answered by ${winner}: ${winner}`);
  expect(await waiting.ended).toEqual(["asked", "completed: The user answered:", `- Which one? → ${winner}`]);
});
