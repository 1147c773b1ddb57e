import type { ReactNode } from "react";
import "./table.css";

export interface Column<Row> {
  head: string;
  title?: string;
  /** Of its cells. */
  look?: string | ((row: Row) => string);
  cell: (row: Row) => ReactNode;
}

interface TableProps<Row> {
  label: string;
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  columns: readonly Column<Row>[];
  /** All columns but the first are numbers. */
  isNumbers?: boolean;
}

/** On a phone each row is a card, and its cells have the names of their columns. */
export function Table<Row>({ label, rows, keyOf, columns, isNumbers = false }: TableProps<Row>) {
  return (
    <div className="scroll-x" tabIndex={0}>
      <table className={isNumbers ? "table cards numbers" : "table cards"} aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ head, title }) => (
              <th key={head} title={title}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ head, look, cell }) => (
                <td key={head} data-head={head} className={typeof look === "function" ? look(row) : look}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
