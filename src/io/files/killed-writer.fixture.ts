// A process that writes one file again and again until it is killed: `program WORKSPACE atomic|plain|once BYTES`.
import { writeFileSync } from "node:fs";
import { createFiles } from "./files.ts";
import { createPathPolicy } from "./path-policy.ts";

const [, , workspace = "", mode, bytes] = process.argv;
const files = createFiles(createPathPolicy({ workspace }));
const contents = ["A", "B"].map((letter) => Buffer.alloc(Number(bytes), letter));
if (mode === "once") {
  const failure = await files.writeFileAtomic("target", contents[1]!).then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error,
  );
  process.stdout.write(JSON.stringify({ code: failure?.code, message: failure?.message }));
} else {
  process.stdout.write("ready");
  for (let round = 0; ; round += 1) {
    const content = contents[round % 2]!;
    if (mode === "plain") writeFileSync(`${workspace}/target`, content);
    else await files.writeFileAtomic("target", content);
  }
}
