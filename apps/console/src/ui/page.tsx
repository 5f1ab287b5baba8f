import { type ReactNode, useEffect, useRef } from 'react';

/** A page: one heading, which gets the focus after navigation, and what can be done beside it. */
export function Page(props: {
  title: ReactNode;
  name: string;
  beside?: ReactNode;
  acts?: ReactNode;
  children: ReactNode;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${props.name} · Muster`;
  }, [props.name]);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <div className="flex flex-col gap-4">
      <header className="flex min-h-touch flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <div className="flex min-w-0 flex-wrap items-center gap-x-3 gap-y-1">
          <h1 ref={heading} tabIndex={-1} className="text-title font-semibold break-words">
            {props.title}
          </h1>
          {props.beside}
        </div>
        {props.acts && <div className="flex flex-wrap items-center gap-2">{props.acts}</div>}
      </header>
      {props.children}
    </div>
  );
}
