import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../../../test/setup/temporary-folder.ts";
import { textOf } from "../../core/content.ts";
import { createHaft, type HaftOptions } from "../../runtime.ts";
import { testTool } from "../../testing/test-tool.ts";
import { openWorkspace } from "../../workspace.ts";
import { editNotebook } from "./edit-notebook.ts";

/** As Jupyter writes it: one space, sorted keys, a list of lines. */
const NOTEBOOK: { cells: Record<string, unknown>[]; [key: string]: unknown } = {
  cells: [
    { cell_type: "markdown", id: "intro", metadata: { tags: ["a"] }, source: ["# Title\n", 'Grüße "you" \\ ]}'] },
    {
      cell_type: "code",
      execution_count: 3,
      id: "calc",
      metadata: {},
      outputs: [{ name: "stdout", output_type: "stream", text: ['1 } ] , "\n'] }],
      source: ["x = 1\n", "print(x)"],
    },
    { cell_type: "code", execution_count: null, id: "last", metadata: {}, outputs: [], source: [] },
  ],
  metadata: { kernelspec: { name: "python3" }, "z:{": "[1, 2" },
  nbformat: 4,
  nbformat_minor: 5,
};
const JUPYTER = `${JSON.stringify(NOTEBOOK, null, 1)}\n`;

type Change = Partial<Parameters<typeof editNotebook>[1]>;
const edit = (text: string, change: Change) =>
  editNotebook(text, { mode: "replace", shown: "n.ipynb", newId: "0123456789abcdef", ...change });
/** The notebook as Jupyter would write it after the change. */
const expected = (change: (notebook: typeof NOTEBOOK) => void): string => {
  const copy = structuredClone(NOTEBOOK);
  change(copy);
  return `${JSON.stringify(copy, null, 1)}\n`;
};

describe("the text of the file", () => {
  test("a replaced code cell loses its outputs, and everything else stays as it was", () => {
    expect(edit(JUPYTER, { cell_id: "calc", source: "y = 2\nprint(y)\n" }).text).toBe(
      expected(({ cells: [, cell] }) => {
        Object.assign(cell!, { source: ["y = 2\n", "print(y)\n"], outputs: [], execution_count: null });
      }),
    );
    expect(edit(JUPYTER, { cell: 1, source: "" }).text).toBe(expected(({ cells }) => void (cells[0]!["source"] = [])));
  });

  test("an inserted cell comes after the named one, or at the beginning, with an id", () => {
    const code = { cell_type: "code", execution_count: null, id: "01234567", metadata: {}, outputs: [], source: ["1"] };
    const note = { cell_type: "markdown", id: "01234567", metadata: {}, source: ["1"] };
    expect(edit(JUPYTER, { mode: "insert", cell_id: "last", source: "1" }).text).toBe(
      expected(({ cells }) => void cells.push(code)),
    );
    const first = edit(JUPYTER, { mode: "insert", source: "1", cell_type: "markdown" });
    expect(first.text).toBe(expected(({ cells }) => void cells.unshift(note)));
    expect(first).toMatchObject({ number: 1, id: "01234567", count: 4 });
    const again = edit(first.text, { mode: "insert", cell: 1, source: "1" });
    expect(again).toMatchObject({ number: 2, id: "012345678", count: 5 });
  });

  test.each([1, 2, 3])("cell %i is deleted with its comma", (cell) => {
    expect(edit(JUPYTER, { mode: "delete", cell }).text).toBe(expected(({ cells }) => void cells.splice(cell - 1, 1)));
  });

  test("a notebook without cells gets one, and the last one can be deleted", () => {
    const empty = `${JSON.stringify({ ...NOTEBOOK, cells: [] }, null, 1)}\n`;
    const { text } = edit(empty, { mode: "insert", source: "1", cell_type: "raw" });
    expect(text).toBe(
      expected((notebook) => {
        notebook.cells = [{ cell_type: "raw", id: "01234567", metadata: {}, source: ["1"] }];
      }),
    );
    expect(edit(text, { mode: "delete", cell: 1 }).text).toBe(empty);
  });

  test("a cell of another type gets and loses the fields of code", () => {
    const code = edit(JUPYTER, { cell_id: "intro", source: "1", cell_type: "code" });
    expect(JSON.parse(code.text)).toMatchObject({
      cells: [{ cell_type: "code", execution_count: null, outputs: [] }, {}, {}],
    });
    const note = JSON.parse(
      edit(JUPYTER, { cell_id: "calc", source: "1", cell_type: "markdown" }).text,
    ) as typeof NOTEBOOK;
    expect(note.cells[1]).toEqual({ cell_type: "markdown", id: "calc", metadata: {}, source: ["1"] });
    expect(
      edit(edit(JUPYTER, { cell: 1, source: "1", cell_type: "code" }).text, {
        cell: 1,
        source: "1",
        cell_type: "markdown",
      }).text,
    ).toBe(expected(({ cells }) => void (cells[0]!["source"] = ["1"])));
  });

  test.each([
    [
      "tabs and CRLF",
      (text: string) => text.replace(/^ +/gm, (blanks) => "\t".repeat(blanks.length)).replaceAll("\n", "\r\n"),
    ],
    ["one line", (text: string) => JSON.stringify(JSON.parse(text))],
    [
      "one line of Python",
      (text: string) =>
        JSON.stringify(JSON.parse(text), null, 1)
          .replace(/\n */g, " ")
          .replaceAll("[ ", "[")
          .replaceAll(" ]", "]")
          .replaceAll("{ ", "{")
          .replaceAll(" }", "}"),
    ],
    [
      "escapes",
      (text: string) => text.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`),
    ],
  ])("keeps the style of the file: %s", (_name, style) => {
    // Without brackets in strings: the styles above are made by simple replacements.
    const plain = JUPYTER.replace("1 } ] , ", "").replace(" \\\\ ]}", "").replace("z:{", "z").replace("[1, 2", "1");
    const inserted = edit(style(plain), { mode: "insert", cell: 1, source: "é = 1\nx" });
    expect(inserted.text).toBe(style(edit(plain, { mode: "insert", cell: 1, source: "é = 1\nx" }).text));
    const replaced = edit(style(plain), { cell: 2, source: "é = 1\nx" });
    expect(replaced.text).toBe(style(edit(plain, { cell: 2, source: "é = 1\nx" }).text));
  });

  test("fields of code are removed in every order of keys", () => {
    const fields = { cell_type: "code", source: ["1"], metadata: {}, execution_count: 1, outputs: [] };
    const orders = [
      ["cell_type", "source", "metadata", "execution_count", "outputs"],
      ["outputs", "execution_count", "cell_type", "source", "metadata"],
      ["cell_type", "execution_count", "outputs", "metadata", "source"],
      ["outputs", "cell_type", "metadata", "source", "execution_count"],
    ] as const;
    for (const order of orders) {
      const cell = Object.fromEntries(order.map((key) => [key, fields[key]]));
      const text = JSON.stringify({ cells: [cell], metadata: {}, nbformat: 4, nbformat_minor: 4 }, null, 1);
      const result = JSON.parse(edit(text, { cell: 1, source: "# T", cell_type: "markdown" }).text) as typeof NOTEBOOK;
      expect(result.cells).toEqual([{ cell_type: "markdown", metadata: {}, source: ["# T"] }]);
    }
  });

  test("a source that is one text stays one, and format 4.4 gets no ids", () => {
    const old = JSON.stringify(
      { cells: [{ cell_type: "code", source: "1", outputs: [] }], nbformat: 4, nbformat_minor: 4 },
      null,
      2,
    );
    expect(JSON.parse(edit(old, { cell: 1, source: "a\nb" }).text)).toMatchObject({ cells: [{ source: "a\nb" }] });
    const [, added] = (JSON.parse(edit(old, { mode: "insert", cell: 1, source: "a\nb" }).text) as { cells: object[] })
      .cells;
    expect(added).toEqual({ cell_type: "code", execution_count: null, metadata: {}, outputs: [], source: "a\nb" });
  });

  test.each<[string, Change, string]>([
    ["no cell", { source: "1" }, "Which cell of n.ipynb?"],
    ["no source", { cell: 1 }, "replace needs source"],
    ["a source to delete", { mode: "delete", cell: 1, source: "x" }, "delete takes no source"],
    ["an unknown id", { cell_id: "cell-1", source: "1" }, 'no cell with the id "cell-1". Ids: intro, calc, last.'],
    ["a number that is too large", { cell: 4, source: "1" }, "n.ipynb has 3 cells; there is no cell 4"],
    ["an id and another number", { cell_id: "calc", cell: 1, source: "1" }, "is number 2, not 1"],
  ])("refuses %s", (_name, change, message) => {
    expect(() => edit(JUPYTER, change)).toThrow(message);
  });

  test.each(["{", "[]", '{"worksheets": []}', '{"cells": [1]}'])("refuses what is not a notebook: %s", (text) => {
    expect(() => edit(text, { cell: 1, source: "1" })).toThrow("is not a notebook of format 4");
  });
});

function stage(options: Omit<HaftOptions, "workspace"> = {}) {
  const folder = temporaryFolder("haft-notebook-");
  const file = join(folder, "n.ipynb");
  writeFileSync(file, JUPYTER);
  const haft = createHaft({ ...options, workspace: openWorkspace(folder) });
  onTestFinished(() => haft.shutdown());
  return { folder, file, haft };
}
const approver = async () => ({ approved: true, by: "test" });

test("edit_notebook keeps the contract of tools", async () => {
  const folder = temporaryFolder("haft-notebook-");
  writeFileSync(join(folder, "plot.ipynb"), JUPYTER);
  const { tools } = openWorkspace(folder, { requireReadBeforeEdit: false, sandbox: false });
  await testTool(
    tools.find(({ name }) => name === "edit_notebook")!,
    {
      runtime: { folder, approver },
      badInputs: [{}, { path: "" }, { path: "plot.ipynb", cell: 0 }, { path: "plot.ipynb", mode: "move" }],
    },
  );
});

test("the notebook must have been read, by any tool that reads, and be unchanged since", async () => {
  const { file, haft } = stage({ approver });
  const change = (source: string) => haft.execute("edit_notebook", { path: "n.ipynb", cell_id: "calc", source });
  expect(await change("1")).toMatchObject({ error: { code: "not_read" } });
  await haft.execute("read", { path: "n.ipynb" });
  expect(await change("2")).toMatchObject({ success: true });
  expect(await change("3")).toMatchObject({ success: true });
  writeFileSync(file, JUPYTER);
  expect(await change("4")).toMatchObject({ error: { code: "stale" } });
  await haft.execute("read_many", { paths: ["*.ipynb"] });
  expect(await change("5")).toMatchObject({ success: true });
});

test("read names the cells as edit_notebook takes them, under Claude's name and parameters too", async () => {
  const { file, haft } = stage({ approver });
  const shown = textOf((await haft.execute("read", { path: "n.ipynb" })).content);
  expect(shown).toContain("[2] code calc\nx = 1");
  const result = await haft.execute("NotebookEdit", {
    notebook_path: "n.ipynb",
    cell_id: "calc",
    new_source: "z",
    edit_mode: "insert",
  });
  expect(result).toMatchObject({ success: true, details: { mode: "insert", cell: 3, cells: 4, cellType: "code" } });
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ cells: [{}, {}, { source: ["z"] }, { id: "last" }] });
});

test("the preview and the result show the cell, what is lost, and the same new id", async () => {
  const previews: string[] = [];
  const { file, haft } = stage({
    approver: async ({ preview }) => {
      previews.push(`${preview?.title}\n${textOf(preview?.content ?? [])}`);
      return { approved: true, by: "test" };
    },
  });
  await haft.execute("read", { path: "n.ipynb" });
  const result = await haft.execute("edit_notebook", { path: "n.ipynb", cell: 2, source: "x = 2\nprint(x)" });
  expect(previews[0]).toContain("Replace cell 2 (code calc) of n.ipynb.\nIts outputs are removed (1).");
  expect(previews[0]).toContain("-x = 1\n+x = 2\n print(x)");
  expect(textOf(result.content)).toContain("-x = 1\n+x = 2\n print(x)");
  const added = await haft.execute("edit_notebook", { path: "n.ipynb", mode: "insert", source: "new" });
  const { cellId } = added.details as { cellId: string };
  expect(previews[1]).toContain(`Insert cell 1 (code ${cellId})`);
  expect(readFileSync(file, "utf8")).toContain(`"id": "${cellId}"`);
});

test("only notebooks are changed, and the rule NotebookEdit allows nothing else", async () => {
  const { folder, haft } = stage({ rules: [{ origin: "user", allow: ["NotebookEdit"] }] });
  writeFileSync(join(folder, "a.json"), "{}");
  await haft.execute("read_many", { paths: ["n.ipynb", "a.json"] });
  expect(await haft.execute("edit_notebook", { path: "n.ipynb", cell: 1, mode: "delete" })).toMatchObject({
    success: true,
  });
  expect(await haft.execute("edit_notebook", { path: "a.json", cell: 1, mode: "delete" })).not.toMatchObject({
    success: true,
  });
  expect(await haft.execute("edit", { path: "a.json", old_string: "{}", new_string: "[]" })).toMatchObject({
    status: "pending",
  });
});

test("a notebook with very many cells is text, and a list in a list is no source", async () => {
  const folder = temporaryFolder("haft-cells-");
  const write = (name: string, cells: unknown[]): void =>
    writeFileSync(join(folder, name), JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 4 }));
  const cell = { cell_type: "code", metadata: {}, outputs: [], source: ["1"] };
  write(
    "many.ipynb",
    Array.from({ length: 20_000 }, () => cell),
  );
  write(
    "empty.ipynb",
    Array.from({ length: 20_000 }, () => ({})),
  );
  write("deep.ipynb", [{ ...cell, source: ["DEEP"] }]);
  const deep = readFileSync(join(folder, "deep.ipynb"), "utf8").replace(
    '"DEEP"',
    `${"[".repeat(20_000)}${"]".repeat(20_000)}`,
  );
  writeFileSync(join(folder, "deep.ipynb"), deep);
  const { tools } = openWorkspace(folder, { requireReadBeforeEdit: false, sandbox: false });
  const haft = createHaft({ tools, folder, approver: async () => ({ approved: true, by: "test" }) });
  for (const path of ["many.ipynb", "empty.ipynb"]) {
    expect(textOf((await haft.execute("read", { path })).content)).toContain('"cells"');
    const edited = await haft.execute("edit_notebook", { path, cell: 1, source: "2" });
    expect(edited).toMatchObject({ status: "failed", error: { code: "too_large" } });
  }
  expect((await haft.execute("read", { path: "deep.ipynb" })).status).toBe("completed");
  expect((await haft.execute("edit_notebook", { path: "deep.ipynb", cell: 1, source: "2" })).status).toBe("completed");
});
