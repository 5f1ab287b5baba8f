import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef } from 'react';
import { classes } from './classes.ts';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: 'right';
  readonly width?: string;
  /**
   * Its place in the card of a narrow screen: in the first line by default, in the second beside the buttons, in its own line, or
   * hidden.
   */
  readonly narrow?: 'second' | 'line' | 'none';
}

/** Whole class names, by place. */
const NARROW = {
  first: '',
  second: 'order-2 md:order-none',
  line: 'order-3 basis-full empty:hidden md:order-none md:empty:table-cell',
  beside: 'order-2 min-w-[60%] flex-1 empty:hidden md:order-none md:empty:table-cell',
  none: 'hidden md:table-cell',
} as const;
/** Between the first line and the second. */
const BREAK = "before:order-1 before:h-0 before:basis-full before:content-[''] md:before:content-none";

const VIRTUAL_FROM = 200;

/** Buttons are in the second line; without any, the reason is beside the state. */
function placesOf<Row>(columns: readonly Column<Row>[]): readonly (keyof typeof NARROW)[] {
  const hasActs = columns.some(isActs);
  const hasSecond = columns.some(({ narrow }) => narrow === 'second');
  return columns.map((column) => {
    if (column.narrow === 'line' && hasSecond && !hasActs) return 'beside';
    return column.narrow ?? (isActs(column) ? 'second' : 'first');
  });
}
const isActs = <Row,>({ name }: Column<Row>) => name.startsWith('-Acts');

/**
 * A real table; below 768 px each row is a card, so that the reason is never off screen. Columns have fixed widths: one long name
 * would push the reasons of all rows off the screen. Above 200 rows, only visible ones are in the document.
 */
export function Table<Row>(props: {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string;
  dimmed?: (row: Row) => boolean;
}) {
  const { rows, columns, keyOf } = props;
  const places = placesOf(columns);
  const body = useRef<HTMLTableSectionElement>(null);
  const isVirtual = rows.length > VIRTUAL_FROM;
  const virtual = useWindowVirtualizer({
    count: isVirtual ? rows.length : 0,
    estimateSize: () => 37,
    overscan: 12,
    scrollMargin: body.current?.offsetTop ?? 0,
  });
  const items = virtual.getVirtualItems();
  const shown = isVirtual ? items.flatMap(({ index }) => rows[index] ?? []) : rows;
  const before = isVirtual ? (items[0]?.start ?? 0) - virtual.options.scrollMargin : 0;
  const after = isVirtual
    ? virtual.getTotalSize() - ((items.at(-1)?.end ?? 0) - virtual.options.scrollMargin)
    : 0;
  return (
    <table aria-label={props.label} className="block w-full text-table wrap-anywhere md:table md:table-fixed">
      <thead className="hidden md:table-header-group">
        <tr>
          {columns.map((column) => (
            <th
              key={column.name}
              scope="col"
              style={column.width ? { width: column.width } : undefined}
              className={classes(
                'h-8 border-b px-2 text-left text-label font-medium text-ink-3 first:pl-4 last:pr-4',
                column.align === 'right' && 'text-right',
              )}
            >
              {column.name.startsWith('-') ? (
                <span className="sr-only">{column.name.slice(1)}</span>
              ) : (
                column.name
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body} className="block md:table-row-group">
        {before > 0 && (
          <tr aria-hidden>
            <td colSpan={columns.length} style={{ height: before }} />
          </tr>
        )}
        {shown.map((row) => (
          <tr
            key={keyOf(row)}
            className={classes(
              'flex flex-wrap items-center gap-x-3 gap-y-hair border-b px-4 py-2 last:border-b-0 md:table-row md:p-0',
              places.includes('second') && BREAK,
              props.dimmed?.(row) && 'bg-sunken grayscale',
            )}
          >
            {columns.map((column, place) => (
              <td
                key={column.name}
                className={classes(
                  'min-w-0 md:h-row md:px-2 md:py-1 md:align-middle md:first:pl-4 md:last:pr-4',
                  NARROW[places[place] ?? 'first'],
                  column.align === 'right' && 'md:text-right',
                  // at the end of the first line of a card; the second begins at the left in every card
                  column.align === 'right' &&
                    places[place] === 'first' &&
                    'ml-auto empty:hidden md:empty:table-cell',
                )}
              >
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
        {after > 0 && (
          <tr aria-hidden>
            <td colSpan={columns.length} style={{ height: after }} />
          </tr>
        )}
      </tbody>
    </table>
  );
}
