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
    // What scrolls sideways can be reached by the keyboard.
    <section className={`panel ${className}`} aria-label={title} tabIndex={className === "scroll-x" ? 0 : undefined}>
      <header>
        <h2 className="grow">{title}</h2>
        {actions}
      </header>
      {isBare ? children : <div className="body">{children}</div>}
    </section>
  );
}
