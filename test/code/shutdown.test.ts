import { afterAll, beforeAll, expect, test } from "vitest";
import { prepareChildren, type TestChildren } from "../../src/store/start-child.fixture.ts";

let children: TestChildren;
beforeAll(async () => {
  children = await prepareChildren();
}, 60_000);
afterAll(() => children.remove());

const OPEN = `
const haft = createHaft({ code: {} });
const run = () => haft.execute("run_code", { code: "return 1 + 1" }, { mode: "bypassPermissions" });
`;

/** Exit code 13: the process ended while a promise was awaited that nothing keeps alive. */
async function expectClosed(source: string): Promise<void> {
  const child = children.start(`${OPEN}${source}`);
  expect(await child.ended).toMatchObject({ code: 0, errors: "" });
  expect(child.lines()).toEqual(["completed", "closed"]);
}

test.each([1, 2, 3, 4])("shutdown settles after run_code, with nothing else in the process (%i)", async () => {
  await expectClosed(`say((await run()).status); await haft.shutdown(); say("closed");`);
});

test("shutdown settles if the thread was idle for a moment", async () => {
  await expectClosed(`
    say((await run()).status);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await haft.shutdown();
    say("closed");
  `);
});

test("shutdown settles if it is called twice, at the same time and afterwards", async () => {
  await expectClosed(`
    say((await run()).status);
    await Promise.all([haft.shutdown(), haft.shutdown()]);
    await haft.shutdown();
    say("closed");
  `);
});

test("shutdown while a thread is starting leaves no thread", async () => {
  await expectClosed(`
    await run();
    const [first] = [run(), run(), run()];
    const closed = haft.shutdown();
    await first;
    await closed;
    say("completed");
    say("closed");
  `);
});
