import type { ReactNode } from "react";
import { DialogHead, openModal } from "./dialog.tsx";

/** Where a panel becomes a sheet. The same width as in `style.css`. */
export const PHONE = "(max-width: 760px)";

/** What comes up from the foot of a phone: a title and a foot that stay, and between them what scrolls. */
export function Sheet(props: { title: string; onClose: () => void; foot?: ReactNode; children: ReactNode }) {
  return (
    <dialog
      ref={openModal}
      className="sheet"
      aria-label={props.title}
      onClose={props.onClose}
      onClick={({ target, currentTarget }) => {
        // The backdrop is a part of the dialog element itself. A link leads away.
        if (target === currentTarget || (target as Element).closest("a, .search-button")) currentTarget.close();
      }}
    >
      <DialogHead title={props.title} />
      <div className="stack sheet-body">{props.children}</div>
      {props.foot === undefined ? null : <footer className="stack">{props.foot}</footer>}
    </dialog>
  );
}
