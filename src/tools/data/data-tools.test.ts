import { expect, test } from "vitest";
import { createHaft } from "../../runtime.ts";
import { createDataTools } from "../tool-families.ts";

test("the data tools are read-only and undo each other", async () => {
  const tools = createDataTools();
  for (const tool of tools)
    expect(tool).toMatchObject({ kind: "readonly", category: "data", origin: { type: "builtin" } });

  const haft = createHaft({ tools });
  const data = { a: [1, "世界", null] };
  const written = (await haft.execute("json_stringify", { data, pretty: true })).details as { text: string };
  const encoded = (await haft.execute("base64_encode", written)).details;
  const { decoded } = (await haft.execute("base64_decode", encoded)).details as { decoded: string };
  expect((await haft.execute("json_parse", { text: decoded })).details).toEqual({ data });
});
