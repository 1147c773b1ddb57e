import type { Preview } from "../../../src/contracts/basics.ts";
import { useLocalized } from "./localized.tsx";
import { VisibleText } from "./visible-text.tsx";

/** What else a person should know before deciding: the folder, the sandbox, variables. */
export function PreviewFacts({ facts = [] }: Pick<Preview, "facts">) {
  const localized = useLocalized();
  if (facts.length === 0) return null;
  return (
    <ul className="notes small">
      {facts.map((fact) => (
        <VisibleText key={fact.text} as="li" text={localized(fact)} />
      ))}
    </ul>
  );
}
