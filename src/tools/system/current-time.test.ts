import { describe, expect, test } from "vitest";
import { textOf } from "../../core/content.ts";
import { createHaft } from "../../runtime.ts";
import { createFakeClock } from "../../testing/fake-clock.ts";
import { testTool } from "../../testing/test-tool.ts";
import { createCurrentTimeTool } from "./current-time.ts";

const ask = (at: number, input: { timezone?: string } = {}, timezone?: string) => {
  const tool = createCurrentTimeTool({ clock: createFakeClock(at), ...(timezone ? { timezone } : {}) });
  return createHaft({ tools: [tool] }).execute("current_time", input);
};

const WINTER = Date.UTC(2026, 0, 15, 12, 30, 45, 678);
const SUMMER = Date.UTC(2026, 6, 15, 12, 30, 45, 678);

describe("current_time", () => {
  test("keeps a tool's contract", async () => {
    await testTool(createCurrentTimeTool({ clock: createFakeClock() }), {
      inputs: [{ timezone: "UTC" }],
      badInputs: [{ timezone: 8 }, { timezone: "Mars/Olympus" }, { timezone: "" }],
    });
  });

  test.each([
    [WINTER, "UTC", "2026-01-15T12:30:45.678Z"],
    [WINTER, "Asia/Shanghai", "2026-01-15T20:30:45.678+08:00"],
    [WINTER, "America/New_York", "2026-01-15T07:30:45.678-05:00"],
    [SUMMER, "America/New_York", "2026-07-15T08:30:45.678-04:00"],
    [SUMMER, "Asia/Kolkata", "2026-07-15T18:00:45.678+05:30"],
    [SUMMER, "Pacific/Marquesas", "2026-07-15T03:00:45.678-09:30"],
    [SUMMER, "Pacific/Kiritimati", "2026-07-16T02:30:45.678+14:00"],
    [Date.UTC(2026, 0, 1), "Asia/Tokyo", "2026-01-01T09:00:00.000+09:00"],
    [Date.UTC(2026, 0, 1, 5), "America/New_York", "2026-01-01T00:00:00.000-05:00"],
    [-1, "UTC", "1969-12-31T23:59:59.999Z"],
  ])("%i in %s is %s", async (timestamp, timezone, iso) => {
    const result = await ask(timestamp, { timezone });
    expect(result.details).toEqual({ timestamp, iso, timezone });
    expect(Date.parse(iso)).toBe(timestamp);
  });

  test("shows the local weekday to the model and one line to a person", async () => {
    const result = await ask(SUMMER, { timezone: "Pacific/Kiritimati" });
    expect(textOf(result.content)).toContain("Thursday");
    expect(result.display).toBe("2026-07-16T02:30:45.678+14:00 Pacific/Kiritimati");
  });

  test("uses the configured zone by default", async () => {
    expect((await ask(WINTER, {}, "Europe/Paris")).details).toMatchObject({
      timezone: "Europe/Paris",
      iso: "2026-01-15T13:30:45.678+01:00",
    });
  });

  test("uses the zone of the host without a configured one", async () => {
    const { iso } = (await ask(WINTER)).details as { iso: string };
    expect(Date.parse(iso)).toBe(WINTER);
  });

  test("corrects the case of a name without replacing it by an older one", async () => {
    expect((await ask(WINTER, { timezone: "europe/paris" })).details).toHaveProperty("timezone", "Europe/Paris");
    expect((await ask(WINTER, { timezone: "Asia/Kolkata" })).details).toHaveProperty("timezone", "Asia/Kolkata");
  });

  test.each([
    ["Shanghai", "Asia/Shanghai"],
    ["Europe/Pariss", "Europe/Paris"],
    ["+08:00", "UTC"],
    ["zzz", "America/New_York"],
  ])("refuses the zone %s and names %s among valid ones", async (timezone, near) => {
    const result = await ask(WINTER, { timezone });
    expect(result).toMatchObject({ success: false, error: { code: "invalid_input" } });
    expect(textOf(result.content)).toContain(near);
    expect(textOf(result.content)).toContain("IANA");
  });
});
