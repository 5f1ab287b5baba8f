import {
  type ASTVisitor,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLObjectType,
  getNamedType,
  getNullableType,
  isListType,
  isObjectType,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';

/**
 * Bounds a document: ten levels deep, a cost of 1,000. A field costs one, one that needs its own statement five; the
 * fields under a page or list count as often as it may have entries; a mutation costs ten, one on many devices a
 * hundred. Introspection reads no data, so its depth is not counted.
 */
export const MOST_DEPTH = 10;
export const MOST_COST = 1_000;
export const MOST_PER_PAGE = 100;
export const DEFAULT_PER_PAGE = 20;
/** The assumed length of a list without a limit: the ten types, the devices of a bulk's answer. */
const A_FEW = 10;
/** The same for introspection, whose lists nest and read no data. */
const A_FEW_OF_SCHEMA = 3;
/** Arguments that limit the number of entries. */
const LENGTHS = new Set(['first', 'last']);
const READ = 5;
const CHANGE = 10;
const CHANGE_OF_MANY = 100;

interface Measure {
  readonly depth: number;
  readonly cost: number;
}
type Parent = GraphQLObjectType | null;
const NOTHING: Measure = { depth: 0, cost: 0 };

export function limitRule(context: ValidationContext): ASTVisitor {
  const schema = context.getSchema();
  // each fragment is measured once, however often it is spread: nested fragments grow exponentially
  const fragments = new Map<string, Measure>();

  /** How often its fields may occur: once for each entry of the page, or of a short list. */
  function entriesOf(
    field: FieldNode,
    definition: GraphQLField<unknown, unknown> | undefined,
    parent: Parent,
  ): number {
    if (!definition?.args.some(({ name }) => LENGTHS.has(name))) {
      if (!definition || !isListType(getNullableType(definition.type))) return 1;
      return parent?.name.startsWith('__') ? A_FEW_OF_SCHEMA : A_FEW;
    }
    const value = field.arguments?.find((one) => LENGTHS.has(one.name.value))?.value;
    if (!value) return DEFAULT_PER_PAGE;
    return value.kind === 'IntValue' ? Math.max(1, Number(value.value)) : MOST_PER_PAGE;
  }

  function ownCost(name: string, parent: Parent): number {
    if (parent === schema.getMutationType()) return name === 'assignBulkAction' ? CHANGE_OF_MANY : CHANGE;
    const isRead = parent === schema.getQueryType() && name !== 'actionTypes' && !name.startsWith('__');
    return isRead || (parent?.name === 'Batch' && name === 'devices') ? READ : 1;
  }

  function ofField(field: FieldNode, parent: Parent): Measure {
    const name = field.name.value;
    const definition = parent?.getFields()[name];
    const type = definition && getNamedType(definition.type);
    const inner = field.selectionSet ? ofSet(field.selectionSet, isObjectType(type) ? type : null) : NOTHING;
    // the entries of a page are in `nodes`: they are counted once, by the page
    const entries = name === 'nodes' ? 1 : entriesOf(field, definition, parent);
    return {
      depth: name.startsWith('__') ? 0 : inner.depth + 1,
      cost: ownCost(name, parent) + entries * inner.cost,
    };
  }

  function ofFragment(name: string): Measure {
    const before = fragments.get(name);
    if (before) return before;
    fragments.set(name, NOTHING); // another rule refuses cycles
    const definition = context.getFragment(name);
    const measure = definition
      ? ofSet(definition.selectionSet, typeNamed(definition.typeCondition.name.value))
      : NOTHING;
    fragments.set(name, measure);
    return measure;
  }

  function typeNamed(name: string): Parent {
    const type = schema.getType(name);
    return isObjectType(type) ? type : null;
  }

  function ofSet({ selections }: SelectionSetNode, parent: Parent): Measure {
    let { depth, cost } = NOTHING;
    for (const one of selections) {
      const measure =
        one.kind === 'Field'
          ? ofField(one, parent)
          : one.kind === 'FragmentSpread'
            ? ofFragment(one.name.value)
            : ofSet(one.selectionSet, one.typeCondition ? typeNamed(one.typeCondition.name.value) : parent);
      depth = Math.max(depth, measure.depth);
      cost += measure.cost;
    }
    return { depth, cost };
  }

  return {
    OperationDefinition(node) {
      const { depth, cost } = ofSet(node.selectionSet, schema.getRootType(node.operation) ?? null);
      if (depth > MOST_DEPTH || cost > MOST_COST)
        context.reportError(
          new GraphQLError(
            depth > MOST_DEPTH
              ? `The document is ${depth} levels deep; ${MOST_DEPTH} are allowed.`
              : `The document costs ${cost}; ${MOST_COST} is allowed. Ask for smaller pages.`,
            { nodes: node, extensions: { code: 'QUERY_TOO_COSTLY' } },
          ),
        );
      return false;
    },
  };
}
