/** TypeScript as JavaScript on the same lines, so that errors are found where they were written. */
export async function stripTypes(source: string): Promise<string> {
  const { createJiti } = await import("jiti");
  const jiti = createJiti(import.meta.url, { fsCache: false });
  const wrapped = `async () => {\n${source}\n}`;
  const code = jiti.transform({ source: wrapped, ts: true, retainLines: true, filename: "program.ts" });
  // It does not throw.
  if (code.includes("__JITI_ERROR__")) throw new SyntaxError("this is not TypeScript");
  // What was put around it stands on lines of its own.
  const lines = code.slice(code.indexOf("{") + 1, code.lastIndexOf("}")).split("\n");
  return lines.slice(1).join("\n");
}
