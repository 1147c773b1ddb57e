import type { ReactNode } from "react";

interface PanelProps {
  title: string;
  /** Right of the title. */
  actions?: ReactNode;
  className?: string;
  /** Without space around the children, which fill it: a table, a form. */
  isBare?: boolean;
  children: ReactNode;
}

/** A part of a page, with a title. */
export function Panel({ title, actions, className = "", isBare = false, children }: PanelProps) {
  return (
    <section className={`panel ${className}`} aria-label={title}>
      <header>
        <h2 className="grow">{title}</h2>
        {actions}
      </header>
      {isBare ? children : <div className="body">{children}</div>}
    </section>
  );
}
