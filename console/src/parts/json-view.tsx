import { VisibleText } from "./visible-text.tsx";

/** Data as readable JSON; hidden characters are shown. */
export function JsonView({ value }: { value: unknown }) {
  return (
    <VisibleText
      as="pre"
      className="code"
      text={typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "undefined")}
    />
  );
}
