import type { ReactNode } from "react";

/** A name, its value, and the class of the value. */
type Fact = readonly [name: string, value: ReactNode, className?: string];

/** Names and values, one below the other. A fact without a value is left out. */
export function Facts({ facts, className = "" }: { facts: readonly Fact[]; className?: string }) {
  return (
    <dl className={`facts ${className}`}>
      {facts.map(([name, value, look]) =>
        value === undefined || value === null || value === false || value === "" ? null : (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd className={look}>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
