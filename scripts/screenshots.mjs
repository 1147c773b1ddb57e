// Makes the first picture of the README: a real server with demo data, shown by a real Chromium. `node scripts/screenshots.mjs`
import { show, signIn, takePicture, withDemo } from "./demo.mjs";

const FILES = {
  "package.json": '{ "name": "tea-shop", "version": "1.4.0" }\n',
  "src/prices.ts":
    "export interface Tea {\n  name: string;\n  price: number;\n}\n\nexport function total(teas: Tea[]): number {\n" +
    "  let sum = 0;\n  for (const tea of teas) sum += tea.price;\n  return sum;\n}\n",
  "README.md": "# Tea shop\n\nSells tea.\n",
  "docs/old-prices.csv": "tea,price\nassam,8\n",
  "plugins/refunds.mjs": `export default {
  manifest: { id: "refunds", version: "1.0.0" },
  register(api) {
    api.registerTool({
      name: "refund",
      description: "Refunds an order",
      parameters: [
        { name: "order", type: "string", description: "Number of the order" },
        { name: "amount", type: "number", description: "How much" },
        { name: "currency", type: "string", description: "Of the amount" },
      ],
      permission: ({ amount }) => (amount > 100 ? "confirm" : "auto"),
      run: ({ order, amount }) => ({ order, refunded: amount }),
    });
  },
};
`,
  "haft.config.yml": "plugins: [./plugins/refunds.mjs]\n",
};
const BETTER_PRICES = FILES["src/prices.ts"]
  .replace("total(teas: Tea[]): number", "total(teas: readonly Tea[], discount = 0): number")
  .replace("  return sum;", "  return sum * (1 - discount);");

/** In the order of time. Calls that need approval stay open, unless `approve` is set. */
const CALLS = [
  { caller: "claude-code", session: "discounts", tool: "list_files", input: { path: "src" } },
  { caller: "claude-code", session: "discounts", tool: "read", input: { path: "src/prices.ts" } },
  { caller: "support", session: "ticket-311", tool: "refund", input: { order: "1042", amount: 18, currency: "EUR" } },
  { caller: "claude-code", session: "discounts", tool: "grep", input: { pattern: "total" } },
  { caller: "support", session: "ticket-312", tool: "read", input: { path: "orders/1043.json" } },
  {
    caller: "claude-code",
    session: "discounts",
    tool: "write",
    input: { path: "CHANGELOG.md", content: "# Changes\n\n- Discounts\n" },
    approve: true,
  },
  { caller: "ci", session: "nightly", tool: "exec", input: { command: "git log --oneline | head -5" } },
  { caller: "ci", session: "nightly", tool: "delete_file", input: { path: "docs/old-prices.csv" } },
  {
    caller: "claude-code",
    session: "discounts",
    tool: "write",
    input: { path: "src/prices.ts", content: BETTER_PRICES },
  },
  { caller: "support", session: "ticket-312", tool: "refund", input: { order: "1043", amount: 180, currency: "EUR" } },
  {
    caller: "claude-code",
    session: "discounts",
    tool: "exec",
    input: { command: "npm test && git push --force origin main" },
  },
];

await withDemo("tea-shop", FILES, async (demo) => {
  const context = await demo.browser.newContext({ viewport: { width: 1280, height: 800 }, locale: "en-US" });
  const page = await signIn(context, demo.login);
  await makeCalls(demo);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await show(page, demo.url, "/work");
    await page.getByText("Review", { exact: true }).nth(2).waitFor();
    await takePicture(page, colorScheme === "dark" ? "work-dark" : "work", { scale: 1.5 });
  }
});

/** Makes the calls with a token for each caller, as programs do. */
async function makeCalls({ url, runHaft }) {
  const tokens = new Map();
  for (const { caller, session, tool, input, approve } of CALLS) {
    if (!tokens.has(caller)) tokens.set(caller, runHaft("token", "create", caller, "--scope", "read,call").token);
    const response = await fetch(`${url}/api/calls`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${tokens.get(caller)}` },
      body: JSON.stringify({ tool, input, session }),
    });
    /** @type {any} */
    const result = await response.json();
    if (approve) runHaft("approvals", "approve", result.pending.id);
  }
}
