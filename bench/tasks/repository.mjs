// The small repository that the recorded tasks work on. The same bytes every time.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { crc32, deflateSync } from "node:zlib";

/** Writes the repository into an empty folder. */
export function writeRepository(folder) {
  const write = (path, content) => {
    const target = join(folder, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
  };
  for (const [path, content] of Object.entries(FILES)) write(path, content);
  write("scripts/build.mjs", buildScript());
  write("data/orders.json", JSON.stringify(makeOrders(2000)));
  write("logs/server.log", serverLog());
  write("notebooks/sales.ipynb", `${JSON.stringify(NOTEBOOK, null, 1)}\n`);
  write("images/banner.png", noisePng(1700, 1200));
  for (let index = 0; index < 3000; index++) {
    write(`node_modules/pkg-${index % 100}/lib/part-${index}.js`, `exports.value = ${index};\n`);
  }
  for (let index = 0; index < 500; index++) {
    const name = (index * 2654435761).toString(16).padStart(12, "0");
    write(`.git/objects/${name.slice(0, 2)}/${name.slice(2)}`, "x");
  }
  write(".git/HEAD", "ref: refs/heads/main\n");
}

/** Orders as the tool `list_orders` returns them and `data/orders.json` holds them. */
export function makeOrders(count) {
  return Array.from({ length: count }, (_, index) => ({
    id: `ORD-${String(index).padStart(4, "0")}`,
    customer: `customer-${(index * 37) % 211}`,
    total: ((index * 7919) % 50000) / 100,
    lines: (index % 5) + 1,
  }));
}

const FILES = {
  "package.json": `${JSON.stringify({ name: "shop", type: "module", scripts: { test: "node --test" } }, null, 2)}\n`,
  ".gitignore": "node_modules/\nlogs/\n",
  "README.md": "# Shop\n\nPrices, carts and orders of a small shop. Run `npm test`.\n",
  "AGENTS.md": "# Instructions\n\nRun the tests after each change.\n",
  "src/orders/AGENTS.md": "# Orders\n\nNever delete an order. Mark it as cancelled instead.\n",
  "src/price.mjs": [
    "/** Price with tax, in cents. */",
    "export function withTax(cents, rate) {",
    "  return Math.floor(cents * (1 + rate));",
    "}",
    "",
    "export function discount(cents, percent) {",
    "  return cents - (cents * percent) / 100;",
    "}",
    "",
  ].join("\n"),
  "src/cart.mjs": [
    'import { withTax } from "./price.mjs";',
    "",
    "export function createCart() {",
    "  const lines = [];",
    "  return {",
    "    add(name, cents, count = 1) {",
    "      console.log(name);",
    "      lines.push({ name, cents, count });",
    "    },",
    "    total(rate = 0.2) {",
    "      const sum = lines.reduce((all, line) => all + line.cents * line.count, 0);",
    "      return withTax(sum, rate);",
    "    },",
    "    size: () => lines.length,",
    "  };",
    "}",
    "",
  ].join("\n"),
  "src/orders/store.mjs": [
    "const orders = new Map();",
    "",
    "/** Adds an order and returns its id. */",
    "export function addOrder(order) {",
    "  const id = `ORD-${orders.size}`;",
    "  orders.set(id, { ...order, state: 'open' });",
    "  return id;",
    "}",
    "",
    "export function findOrder(id) {",
    "  return orders.get(id);",
    "}",
    "",
    "export function cancelOrder(id) {",
    "  const order = orders.get(id);",
    "  if (order) order.state = 'canceled';",
    "  return order;",
    "}",
    "",
    "export function countOrders() {",
    "  return orders.size;",
    "}",
    "",
  ].join("\n"),
  "src/orders/report.mjs": [
    'import { countOrders, findOrder } from "./store.mjs";',
    "",
    "export function report(ids) {",
    "  return ids.map((id) => findOrder(id)).filter(Boolean);",
    "}",
    "",
    "export const total = () => countOrders();",
    "",
  ].join("\n"),
  "src/legacy.js": "function old() {\r\n  var debug = true;\r\n  return 1;\r\n}\r\nmodule.exports = old;\r\n",
  "test/price.test.mjs": [
    'import assert from "node:assert";',
    'import { test } from "node:test";',
    'import { withTax } from "../src/price.mjs";',
    "",
    'test("tax is rounded", () => assert.equal(withTax(1999, 0.19), 2379));',
    "",
  ].join("\n"),
  "test/orders.test.mjs": [
    'import assert from "node:assert";',
    'import { test } from "node:test";',
    'import { addOrder, cancelOrder } from "../src/orders/store.mjs";',
    "",
    'test("a cancelled order stays", () => assert.ok(cancelOrder(addOrder({ total: 1 }))));',
    "",
  ].join("\n"),
  // The price of shipping is written with a no-break space.
  "docs/guide.md": "# Guide\n\nShipping costs 5\u00a0EUR in all countries.\n\nReturns are free for 30 days.\n",
};

const NOTEBOOK = {
  cells: [
    { cell_type: "markdown", id: "intro", metadata: {}, source: ["# Sales\n", "Per month."] },
    {
      cell_type: "code",
      execution_count: 1,
      id: "load",
      metadata: {},
      outputs: [],
      source: ["sales = load('sales.csv')\n", "sales.head()"],
    },
    {
      cell_type: "code",
      execution_count: 2,
      id: "plot",
      metadata: {},
      outputs: [],
      source: ["sales.groupby('year').sum().plot()"],
    },
  ],
  metadata: { language_info: { name: "python" } },
  nbformat: 4,
  nbformat_minor: 5,
};

/** Prints 6,000 lines with one error in the middle, as builds do. */
function buildScript() {
  return [
    "for (let part = 0; part < 6000; part++) {",
    "  if (part === 2900) console.log(\"src/orders/report.mjs:4:10 - error TS2345: Argument of type 'string' is not assignable.\");",
    "  else console.log(`[build] transformed node_modules/pkg-${part % 100}/lib/part-${part}.js in ${part % 9} ms`);",
    "}",
    "process.exitCode = 2;",
    "",
  ].join("\n");
}

function serverLog() {
  const lines = Array.from({ length: 20_000 }, (_, index) => {
    const time = new Date(Date.UTC(2026, 0, 1) + index * 1000).toISOString();
    if (index === 13_337) return `${time} ERROR payment declined for ORD-0815: card expired`;
    return `${time} INFO GET /orders/${(index * 31) % 2000} 200 ${(index * 17) % 90} ms`;
  });
  return `${lines.join("\n")}\n`;
}

/** A picture that cannot be compressed, so it is large. */
function noisePng(width, height) {
  const rows = Buffer.alloc(height * (1 + width * 3));
  let state = 1;
  for (let at = 0; at < rows.length; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    rows[at] = at % (1 + width * 3) === 0 ? 0 : state >>> 24;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const parts = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows, { level: 1 })), chunk("IEND", Buffer.alloc(0))];
  return Buffer.concat([signature, ...parts]);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const framed = Buffer.alloc(body.length + 8);
  framed.writeUInt32BE(data.length, 0);
  body.copy(framed, 4);
  framed.writeUInt32BE(crc32(body) >>> 0, body.length + 4);
  return framed;
}
