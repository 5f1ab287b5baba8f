import { type JsonNode, writeJson } from '../words/json-text.ts';
import { counted } from '../words/numbers.ts';
import { buttonClasses } from './button.tsx';

/** Collapsed from the second level on; more than 64 KB is downloaded instead of drawn. */
const DRAWN = 64 * 1024;

export function JsonViewer({ node, name }: { node: JsonNode; name: string }) {
  const text = writeJson(node);
  if (text.length > DRAWN)
    return (
      <a
        className={buttonClasses()}
        download={`${name}.json`}
        href={`data:application/json,${encodeURIComponent(text)}`}
      >
        Download {name} ({Math.ceil(text.length / 1024)} KB)
      </a>
    );
  return (
    <div className="overflow-x-auto font-mono text-table">
      <Value node={node} depth={0} />
    </div>
  );
}

function Value({ node, depth, name }: { node: JsonNode; depth: number; name?: string }) {
  const key = name === undefined ? null : <span className="text-ink-3">{name}: </span>;
  if (node.kind !== 'object' && node.kind !== 'array')
    return (
      <div className="pl-4 wrap-anywhere whitespace-pre-wrap">
        {key}
        <span className={node.kind === 'string' ? 'text-ink' : 'font-medium text-ink'}>{node.text}</span>
      </div>
    );
  const entries =
    node.kind === 'object' ? node.entries : node.items.map((one, place) => [String(place), one] as const);
  const sum = node.kind === 'object' ? counted(entries.length, 'field') : counted(entries.length, 'item');
  if (entries.length === 0)
    return (
      <div className="pl-4">
        {key}
        {node.kind === 'object' ? '{}' : '[]'}
      </div>
    );
  return (
    <details open={depth < 2}>
      <summary className="min-h-6 marker:text-ink-3">
        {key}
        <span className="text-ink-3">
          {node.kind === 'object' ? '{…}' : '[…]'} {sum}
        </span>
      </summary>
      <div className="ml-2 border-l pl-2">
        {entries.map(([inner, one]) => (
          <Value key={inner} node={one} depth={depth + 1} name={inner} />
        ))}
      </div>
    </details>
  );
}
