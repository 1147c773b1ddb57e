import { transformSync } from "rolldown/utils";

/** TypeScript as JavaScript, unchecked. */
export function transpile(file, source) {
  const { code, errors } = transformSync(file, source, { lang: "ts" });
  if (errors.length > 0) throw new SyntaxError(errors.map(({ message }) => message).join("\n"));
  return code;
}
