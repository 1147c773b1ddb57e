import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readDuration, readMoment } from "./arguments.ts";
import { showColumns } from "./layout.ts";
import { createOutput, type Paint, safe, safeLine, showJson } from "./output.ts";
import { hasDesktop, type Terminal, usesColour } from "./terminal.ts";

const ACTS_OR_HIDES = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

describe("what is shown", () => {
  test("has nothing that a terminal acts on or hides, as text and as JSON", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), (text) => {
        expect(safe(text)).not.toMatch(ACTS_OR_HIDES);
        expect(safeLine(text)).not.toMatch(/[\n\t]/);
        const json = showJson({ text }, 2);
        expect(json).not.toMatch(ACTS_OR_HIDES);
        expect(JSON.parse(json)).toEqual({ text });
      }),
    );
  });

  test("goes to stdout as data and to stderr as talk, in the format that was asked for", () => {
    const print = (format: "text" | "json" | "jsonl", quiet = false, idsOnly = false) => {
      const written = { stdout: "", stderr: "" };
      const stream = (name: "stdout" | "stderr") => ({ write: (text: string) => (written[name] += text) });
      const terminal = { stdout: stream("stdout"), stderr: stream("stderr"), env: {} } as unknown as Terminal;
      const output = createOutput(terminal, { format, quiet, idsOnly, colour: true });
      output.list({ items: [{ id: "a" }, { name: "b" }] }, (items) => items.map((_item, at) => `item ${at + 1}`));
      output.info("talk");
      return written;
    };
    expect(print("text")).toEqual({ stdout: "item 1\nitem 2\n", stderr: "talk\n" });
    expect(JSON.parse(print("json").stdout)).toEqual({ items: [{ id: "a" }, { name: "b" }] });
    expect(print("jsonl", true)).toEqual({ stdout: '{"id":"a"}\n{"name":"b"}\n', stderr: "" });
    expect(print("text", false, true)).toEqual({ stdout: "a\nb\n", stderr: "" });
  });

  test("stands in columns, wide characters counted, and the last one is cut to the terminal", () => {
    const paint: Paint = (_style, text) => text;
    expect(
      showColumns(
        [
          ["读", "a"],
          ["ab", "a long text that goes on"],
        ],
        { paint, columns: 20 },
      ),
    ).toEqual(["读  a", "ab  a long text tha…"]);
  });

  test("takes several lines a row where the last column has no room, and loses no word", () => {
    const paint: Paint = (_style, text) => text;
    const row = ["k7Qw0e2Zb1xA", "build machine", "read,call", "created 2026-11-19 08:00, until 2026-12-19 08:00"];
    const lines = showColumns([row, ["b", "", "read", "created today"]], { paint, columns: 40 });
    expect(lines).toEqual([
      "k7Qw0e2Zb1xA  build machine  read,call",
      "  created 2026-11-19 08:00, until",
      "  2026-12-19 08:00",
      "b  read  created today",
    ]);
  });
});

test("colours follow the user's word, then what the stream is", () => {
  const tty = { isTTY: true, write: () => undefined };
  const pipe = { write: () => undefined };
  expect(usesColour(tty, {})).toBe(true);
  expect(usesColour(pipe, {})).toBe(false);
  expect(usesColour(tty, { NO_COLOR: "1", FORCE_COLOR: "1" })).toBe(false);
  expect(usesColour(tty, { NO_COLOR: "" })).toBe(true);
  expect(usesColour(pipe, { FORCE_COLOR: "1" })).toBe(true);
  expect(usesColour(tty, { FORCE_COLOR: "0" })).toBe(false);
  expect(usesColour(tty, { TERM: "dumb" })).toBe(false);
});

test("a browser is opened before a person at a desktop alone", () => {
  const at = (env: Record<string, string>, system: NodeJS.Platform = "linux", isTTY = true) =>
    hasDesktop({ stdout: { isTTY, write: () => undefined }, env }, system);
  expect(at({ DISPLAY: ":0" })).toBe(true);
  expect(at({ WAYLAND_DISPLAY: "wayland-0" })).toBe(true);
  expect(at({}, "darwin")).toBe(true);
  expect(at({})).toBe(false);
  expect(at({ DISPLAY: ":0", SSH_CONNECTION: "a" })).toBe(false);
  expect(at({ CI: "true" }, "darwin")).toBe(false);
  expect(at({ DISPLAY: ":0" }, "linux", false)).toBe(false);
});

test("times have units, and moments are ago or dates", () => {
  expect([readDuration("250ms", "x"), readDuration("2h", "x"), readDuration("0.5d", "x")]).toEqual([
    250, 7_200_000, 43_200_000,
  ]);
  expect(readMoment("1m", "x", 100_000)).toBe(40_000);
  expect(readMoment("2026-11-15T00:00:00Z", "x")).toBe(Date.UTC(2026, 10, 15));
  for (const wrong of ["5", "5 minutes", "-5s", ""]) expect(() => readDuration(wrong, "--x")).toThrow("--x");
  for (const wrong of ["yesterday", "15", "2026-99-99"]) expect(() => readMoment(wrong, "--x")).toThrow("--x");
});
