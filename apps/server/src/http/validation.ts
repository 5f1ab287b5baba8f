import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { FastifySchemaCompiler } from 'fastify';
import type { MusterError } from '../errors.ts';
import { httpError } from './errors.ts';
import { IN_RANGE, isInRange } from './time-range.ts';

/**
 * Schemas are written in zod and compiled once by ajv; a finding of ajv becomes one sentence that names the field. A
 * body is taken as it is; a query is text, so its numbers and booleans are converted.
 */
const options = {
  allErrors: false,
  formats: {
    // The pattern beside it checks the form.
    'date-time': isInRange,
  },
  strict: true,
  // parentSchema, for sentences like "from 0 to 25"
  verbose: true,
} as const;
const exact = new Ajv(options);
const coercing = new Ajv({ ...options, coerceTypes: true });

/** Compiled with the first request that needs it: compiling all at each start would take half a second. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) => {
  const compiler = httpPart === 'querystring' ? coercing : exact;
  let compiled: ValidateFunction | undefined;
  const validate: { (data: unknown): boolean; errors?: ValidateFunction['errors'] } = (data) => {
    compiled ??= compiler.compile(schema);
    const isRight = compiled(data);
    validate.errors = compiled.errors;
    return isRight;
  };
  return validate as never;
};

const CODES = {
  body: 'MUSTER_BAD_BODY',
  headers: 'MUSTER_BAD_HEADER',
  params: 'MUSTER_BAD_PATH',
  querystring: 'MUSTER_BAD_QUERY',
} as const;

export function sentenceOf(found: unknown, context: string | undefined): MusterError {
  const part = (context ?? 'body') as keyof typeof CODES;
  const errors = found as ErrorObject[];
  const whole = part === 'body' ? 'the body' : part === 'querystring' ? 'the query' : `the ${part}`;
  return httpError(CODES[part], ofOneOf(errors, whole) ?? sentence(errors[0], whole));
}

/**
 * "Exactly one of these fields": each alternative leaves its own error, but only those of the intended one help.
 * Undefined: these are not alternatives that are told apart by their fields.
 */
function ofOneOf(errors: readonly ErrorObject[], whole: string): string | undefined {
  const last = errors.at(-1);
  if (last?.keyword !== 'anyOf' || !isObject(last.data)) return undefined;
  const alternatives = last.schema as readonly Alternative[];
  if (!alternatives.every(({ properties, required }) => properties && required)) return undefined;
  const given = Object.keys(last.data);
  const meant = [...alternatives.keys()].filter((n) =>
    given.some((field) => Object.hasOwn(alternatives[n]?.properties ?? {}, field)),
  );
  if (meant.length === 1)
    return sentence(
      errors.find(({ schemaPath }) => schemaPath.startsWith(`${last.schemaPath}/${meant[0]}/`)),
      whole,
    );
  const fields = alternatives.map(({ required }) => required?.[0]).join(', ');
  return `${nameOf(last, whole)} must have exactly one of ${fields}.`;
}

interface Alternative {
  readonly properties?: object;
  readonly required?: readonly string[];
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sentence(found: ErrorObject | undefined, whole: string): string {
  if (!found) return `${capital(whole)} is invalid.`;
  const field = fieldOf(found);
  const name = nameOf(found, whole);
  const { params, parentSchema: rule = {} } = found;
  switch (found.keyword) {
    case 'required':
      return `${inside(field, params.missingProperty)} is missing in ${whole}.`;
    case 'additionalProperties':
      return `${capital(whole)} has an unknown field ${JSON.stringify(inside(field, params.additionalProperty).slice(0, 100))}.`;
    case 'type':
      if (rule.enum) return `${name} must be one of ${rule.enum.join(', ')}.`;
      if (params.type === 'null' && rule.description) return `${name} must be ${rule.description}.`;
      return `${name} must be ${rule.const === undefined ? article(params.type) : JSON.stringify(rule.const)}.`;
    case 'const':
      return `${name} must be ${JSON.stringify(params.allowedValue)}.`;
    case 'enum':
      return `${name} must be one of ${params.allowedValues.join(', ')}.`;
    case 'minimum':
    case 'maximum':
      return `${name} must be ${range(rule, 'minimum', 'maximum')}.`;
    case 'minLength':
    case 'maxLength':
      return `${name} must have ${range(rule, 'minLength', 'maxLength')} characters.`;
    case 'minItems':
    case 'maxItems':
      return `${name} must have ${range(rule, 'minItems', 'maxItems')} entries.`;
    case 'format':
      return `${name} must be ${IN_RANGE}.`;
    case 'pattern':
      return `${name} must be ${rule.format === 'date-time' ? 'a time such as 2026-03-01T12:00:00Z' : (rule.description ?? 'in the right form')}.`;
    default:
      return `${name} ${found.message ?? 'is invalid'}.`;
  }
}

function fieldOf({ instancePath }: ErrorObject): string {
  return instancePath.slice(1).replaceAll('/', '.');
}

function nameOf(found: ErrorObject, whole: string): string {
  return fieldOf(found) || capital(whole);
}

function inside(field: string, name: string): string {
  return field === '' ? name : `${field}.${name}`;
}

function range(rule: Record<string, number | undefined>, lower: string, upper: string): string {
  const [from, to] = [rule[lower], rule[upper]];
  if (from === undefined) return `at most ${to}`;
  return to === undefined || to === Number.MAX_SAFE_INTEGER ? `at least ${from}` : `from ${from} to ${to}`;
}

function article(type: string | string[]): string {
  const words: Record<string, string> = {
    array: 'a list',
    boolean: 'true or false',
    integer: 'a whole number',
    null: 'null',
    number: 'a number',
    object: 'an object',
    string: 'a text',
  };
  return [type]
    .flat()
    .map((one) => words[one] ?? one)
    .join(' or ');
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
