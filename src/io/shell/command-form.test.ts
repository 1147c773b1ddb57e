import { describe, expect, test } from "vitest";
import { type CommandForm, matchForm } from "./command-form.ts";
import { literal } from "./rebuilt-word.ts";

const form: CommandForm = {
  options: "-abc -n:number -e:pattern -f:path -U? -# --all --lines:number --color? --file:path",
  operands: { kind: "path", first: "pattern", firstUnless: ["-e"], max: 3 },
};
const use = (...words: string[]) => matchForm(form, words.map(literal));
const paths = (...words: string[]) => {
  const verdict = use(...words);
  return "use" in verdict ? verdict.use.paths : verdict.refused;
};

describe("matchForm", () => {
  test("reads clusters, attached and separate values, and options after operands", () => {
    expect(use("-abn5", "x", "-20", "--lines=3", "--color=always", "-U3", "y")).toMatchObject({
      use: {
        options: ["-a", "-b", "-n", "-#", "--lines", "--color", "-U"].map((name) => ({ name })),
        operands: ["x", "y"],
        paths: ["y"],
      },
    });
  });

  test("collects paths from operands and values", () => {
    expect(paths("x", "y", "-f", "z", "--", "-w")).toEqual(["z", "y", "-w"]);
    expect(paths("-e", "-x", "y", "-")).toEqual(["y"]);
  });

  test.each([
    [["-d"], "-d"],
    [["-ad"], "-d"],
    [["--al"], "--al"],
    [["--al=x"], "--al"],
    [["--all=x"], "takes no value"],
    [["-n", "x"], "not a number"],
    [["-n"], "lacks"],
    [["-f", "-x"], "unclear"],
    [["-Ux"], "-x"],
    [["1", "2", "3", "4"], "more than 3"],
  ])("refuses %j", (words, why) => {
    expect(use(...words)).toMatchObject({ refused: expect.stringContaining(why) });
  });
});
